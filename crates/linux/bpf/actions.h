/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an action does to the copy of the frame, and what it has leave.
 */
#pragma once

#include "rewrite.h"
#include "streams.h"
#include "tags.h"
#include "watching.h"

/* Keeps the form that the frame has now. */
CHECKED_ONCE int keep_form(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	u32 form = plan->forms;
	if (form >= LIMIT_FORMS)
		return TOO_FAR;
	plan->shapes[slot(form, LIMIT_FORMS)] = plan->work.form;
	plan->form = form;
	plan->forms = form + 1;
	return GOES_ON;
}

/* Notes that the frame leaves through a port as it is now. */
INLINE int add_output(struct plan *plan, u32 port)
{
	u32 count = plan->output_count;
	if (count >= LIMIT_OUTPUTS)
		return TOO_FAR;
	if (plan->form == FORM_NONE && keep_form(plan))
		return TOO_FAR;
	struct output *output = &plan->outputs[slot(count, LIMIT_OUTPUTS)];
	output->port = port;
	output->bytes = length_now(plan);
	output->queue = plan->queue;
	output->form = plan->form;
	output->visit = plan->visits - 1;
	plan->output_count = count + 1;
	return GOES_ON;
}

/* Notes that the frame leaves through all ports but that of arrival that have a
 * flag. */
CHECKED_ONCE int add_outputs(struct plan *plan, u32 flag)
{
	if (!plan)
		return TO_CORE;
	const u64 *setting = record(&settings, 0);
	if (!setting || setting[SETTINGS_PORTS] > LIMIT_PORTS_TO_ALL)
		return TOO_FAR;
	for (u32 port = 0; port < LIMIT_PORTS_TO_ALL; port++) {
		if (port >= setting[SETTINGS_PORTS])
			break;
		const u64 *words = record(&ports, port);
		if (!words || port == plan->port || !(high(words[PORT_INTERFACE]) & flag))
			continue;
		int outcome = add_output(plan, port);
		if (outcome)
			return outcome;
	}
	return GOES_ON;
}

/* Does what an action says that is seldom. */
CHECKED_ONCE int act_seldom(struct plan *plan, const struct action *action)
{
	if (!plan || !action)
		return TO_CORE;
	u64 what = action->words[ACTION_WHAT];
	u32 number = high(what);
	switch (what & 0xff) {
	case OPERATION_OUTPUT_IN_PORT:
		return add_output(plan, plan->port);
	case OPERATION_OUTPUT_ALL:
		return add_outputs(plan, PORT_SENDS);
	case OPERATION_OUTPUT_FLOOD:
		return add_outputs(plan, PORT_SENDS_FLOODS);
	case OPERATION_GROUP:
		plan->group = number;
		return AT_GROUP;
	case OPERATION_PUSH_VLAN:
	case OPERATION_ENSURE_TAG:
	case OPERATION_POP_VLAN:
	case OPERATION_SET_VLAN_VID:
	case OPERATION_SET_VLAN_PCP:
		return change_tags(plan, action);
	case OPERATION_FLOW_MONITOR:
		return note_packet(plan, number);
	case OPERATION_MODE_ARRANGE:
		return note_signal(plan);
	case OPERATION_QUEUED_FATE:
		return GOES_ON;
	case OPERATION_SEQUENCE:
		return number_frame(plan, number);
	case OPERATION_ELIMINATE:
		return eliminate(plan, action);
	case OPERATION_TRAILER:
		return number_in_trailer(plan, number);
	case OPERATION_TRAILER_LAN:
		return set_lan(plan, number);
	default:
		return set_field(plan, action);
	}
}

/* Does what the action in this place says. Most output or choose a queue. */
INLINE int act(struct plan *plan, u32 place)
{
	const u64 *action = record(&actions, place);
	if (!action)
		return TO_CORE;
	u64 what = action[ACTION_WHAT];
	u32 number = high(what);
	if ((what & 0xff) == OPERATION_OUTPUT)
		return number == plan->port ? GOES_ON : add_output(plan, number);
	if ((what & 0xff) != OPERATION_SET_QUEUE)
		return act_seldom(plan, (const struct action *)action);
	plan->queue = plan->exceeds ? 0 : number & 7;
	return GOES_ON;
}
