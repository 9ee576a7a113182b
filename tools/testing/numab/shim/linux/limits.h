/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names for the limits of its integer types. */
#ifndef _NUMAB_SHIM_LINUX_LIMITS_H
#define _NUMAB_SHIM_LINUX_LIMITS_H

#include <limits.h>
#include <linux/types.h>

#ifndef U32_MAX
#define U32_MAX		((u32)~0U)
#endif

#ifndef U64_MAX
#define U64_MAX		((u64)~0ULL)
#endif

#endif /* _NUMAB_SHIM_LINUX_LIMITS_H */
