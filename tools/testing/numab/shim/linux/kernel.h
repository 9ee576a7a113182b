/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the policy takes from the kernel's linux/kernel.h and tools/include
 * does not have, or has in a stricter form.
 */
#ifndef _NUMAB_SHIM_LINUX_KERNEL_H
#define _NUMAB_SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/math64.h>

/* As in the kernel, an unsigned variable may be compared with a constant. */
#undef min
#undef max
#undef clamp

#define min(x, y) ({				\
	__auto_type _x = (x);			\
	__auto_type _y = (y);			\
	_x < _y ? _x : _y; })

#define max(x, y) ({				\
	__auto_type _x = (x);			\
	__auto_type _y = (y);			\
	_x > _y ? _x : _y; })

#define clamp(val, lo, hi) ({			\
	typeof(val) _v = (val);			\
	typeof(val) _lo = (lo);			\
	typeof(val) _hi = (hi);			\
	_v < _lo ? _lo : _v > _hi ? _hi : _v; })

#ifndef DIV_ROUND_UP_ULL
#define DIV_ROUND_UP_ULL div_round_up_ull
static inline u64 div_round_up_ull(u64 dividend, u64 divisor)
{
	return div64_u64(dividend + divisor - 1, divisor);
}
#endif

#endif /* _NUMAB_SHIM_LINUX_KERNEL_H */
