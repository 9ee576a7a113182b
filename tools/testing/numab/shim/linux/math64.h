/* SPDX-License-Identifier: GPL-2.0 */
/* Divisions that 32-bit kernels need a function for. */
#ifndef _NUMAB_SHIM_LINUX_MATH64_H
#define _NUMAB_SHIM_LINUX_MATH64_H

#include_next <linux/math64.h>

#ifndef div64_u64
#define div64_u64 div64_u64
static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}
#endif

#endif /* _NUMAB_SHIM_LINUX_MATH64_H */
