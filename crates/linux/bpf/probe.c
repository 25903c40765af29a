/* A small program that uses each thing that the loader has to get right: maps, a
 * function that is checked once, one that is checked at each call, the ring and a
 * redirect. The loader's tests run it; the switch does not.
 */
#include "kernel.h"

MAP(tallies);
MAP(records);

/* What the program does with a frame, by its first byte. */
enum action {
	PASS,
	DROP,
	RECORD,
	BOUNCE,
	LINGER,
};

/* Long beside anything that is done with a frame. */
#define LINGER_NS 300000ULL
/* More looks at the clock than that takes, as many as the verifier follows. */
#define LOOKS 6000

#define RECORD_BYTES 64

/* Counts under `number`. */
CHECKED_ONCE int tally(u32 number)
{
	u64 *count = map_lookup_elem(&tallies, &number);
	if (!count)
		return 0;
	atomic_add(count, 1);
	return 1;
}

/* Copies the beginning of a frame into the ring. */
CALLED int record(struct __sk_buff *frame)
{
	u8 *room = ringbuf_reserve(&records, RECORD_BYTES, 0);
	if (!room)
		return tally(RECORD + 4);
	*(u64 *)room = frame->len;
	if (skb_load_bytes(frame, 0, room + 8, 14)) {
		ringbuf_discard(room, 0);
		return 0;
	}
	ringbuf_submit(room, 0);
	return 1;
}

/* Keeps the processor. */
CALLED int linger(void)
{
	u64 begun = ktime_get_ns();
	for (u32 look = 0; look < LOOKS; look++) {
#pragma unroll
		for (int more = 0; more < 7; more++)
			ktime_get_ns();
		if (ktime_get_ns() - begun >= LINGER_NS)
			return 1;
	}
	return 0;
}

/* Not the first function: the loader finds it by its name. */
PROGRAM int probe(struct __sk_buff *frame)
{
	u8 first = 0;
	if (skb_load_bytes(frame, 0, &first, 1))
		return TC_ACT_SHOT;
	/* The lowest two bits of an address say whether it is for a group and who
	 * assigned it. */
	u32 action = (first >> 2) & 7;
	tally(action);
	switch (action) {
	case DROP:
		return TC_ACT_SHOT;
	case RECORD:
		record(frame);
		return TC_ACT_SHOT;
	case LINGER:
		linger();
		tally(LINGER + 3);
		return TC_ACT_SHOT;
	case BOUNCE:
		return (int)redirect(frame->ifindex, 0);
	default:
		return TC_ACT_UNSPEC;
	}
}
