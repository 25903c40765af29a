/* Single steps of what the switch does about modes, for the tests of their meaning:
 * the frame is the input of a step, the verdict its result. */
#include "monitor.h"
#include "siphash.h"

/* What a frame asks for: words behind a header that nobody reads. */
struct request {
	u64 header[2];
	u64 now;
	u32 message;
	u32 size;
	u32 sequence;
	u32 carried;
	u64 words[5];
};

/* Watches a packet; the verdict is its demand. */
PROGRAM int watch_one(struct __sk_buff *frame)
{
	struct request request;
	u64 *monitor = record(&monitors, 0);
	if (!monitor || skb_load_bytes(frame, 0, &request, sizeof(request)))
		return -1;
	struct packet packet = {request.message, request.size, request.sequence, request.carried};
	return (int)watch(monitor, request.now, &packet);
}

/* Writes the tag of four words and a half. */
PROGRAM int tag_one(struct __sk_buff *frame)
{
	struct request request;
	u64 *state = record(&modes, 0);
	if (!state || skb_load_bytes(frame, 0, &request, sizeof(request)))
		return -1;
	state[MODES_ORIGIN] = siphash_36(state[MODES_KEY_0], state[MODES_KEY_1], request.words,
					 (u32)request.words[4]);
	return 0;
}
