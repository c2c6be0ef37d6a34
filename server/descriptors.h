/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h: how many connections the descriptors of this process are enough for. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

/* Raises the process's own limit to what the system lets it have. Returns how many connections there may be,
 * `most` or fewer, so that some descriptors are left for whatever else is opened; *limit is that of all
 * descriptors. 0 and below: there are not enough for one. */
int descriptors_for(int most, long *limit);

#endif
