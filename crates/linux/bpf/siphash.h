/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 of what a mode signal signs: 36 bytes. `wire::siphash` in C.
 */
#pragma once

#include "kernel.h"

INLINE u64 rotated(u64 word, u32 by)
{
	return word << by | word >> (64 - by);
}

struct sip {
	u64 a, b, c, d;
};

INLINE void sip_round(struct sip *sip)
{
	sip->a += sip->b;
	sip->c += sip->d;
	sip->b = rotated(sip->b, 13) ^ sip->a;
	sip->d = rotated(sip->d, 16) ^ sip->c;
	sip->a = rotated(sip->a, 32);
	sip->c += sip->b;
	sip->a += sip->d;
	sip->b = rotated(sip->b, 17) ^ sip->c;
	sip->d = rotated(sip->d, 21) ^ sip->a;
	sip->c = rotated(sip->c, 32);
}

INLINE void sip_absorb(struct sip *sip, u64 word)
{
	sip->d ^= word;
	sip_round(sip);
	sip_round(sip);
	sip->a ^= word;
}

/* Returns the tag of four words and half a word, their first byte the lowest. */
INLINE u64 siphash_36(u64 key_low, u64 key_high, const u64 *words, u32 last)
{
	struct sip sip = {
		key_low ^ 0x736f6d6570736575ull,
		key_high ^ 0x646f72616e646f6dull,
		key_low ^ 0x6c7967656e657261ull,
		key_high ^ 0x7465646279746573ull,
	};
	sip_absorb(&sip, words[0]);
	sip_absorb(&sip, words[1]);
	sip_absorb(&sip, words[2]);
	sip_absorb(&sip, words[3]);
	sip_absorb(&sip, (u64)last | 36ull << 56);
	sip.c ^= 0xff;
	sip_round(&sip);
	sip_round(&sip);
	sip_round(&sip);
	sip_round(&sip);
	return sip.a ^ sip.b ^ sip.c ^ sip.d;
}
