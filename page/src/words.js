// What happened, in words.

import { duration, plural } from './units.js';

const KINDS = {
  ready: () => 'the controller decides',
  'switch-connected': (e) => `switch ${e.name} connected`,
  'switch-lost': (e) => `switch ${e.name} is not heard`,
  'switch-gone': (e) => `switch ${e.name} does not forward`,
  'link-found': (e) => `link ${e.link} is up`,
  'link-lost': (e) => `link ${e.link} lost (${e.detection})`,
  'host-found': (e) => `host ${e.name} found at ${e.at.switch}:${e.at.port}`,
  'host-moved': (e) => `host ${e.name} moved to ${e.to.switch}:${e.to.port}`,
  admitted: (e) => `${e.name} admitted`,
  withdrawn: (e) => `${e.name} withdrawn`,
  installed: (e) => `${e.name ?? `flow ${e.flow}`} installed`,
  readmitted: (e) => `${e.name ?? `flow ${e.flow}`} decided anew`,
  restored: (e) => `${plural(e.flows, 'flow')} moved away from link ${e.link} in ${duration(e.took_ns)}`,
  returned: (e) => `${plural(e.flows, 'flow')} back on the usual way`,
  'promise-changed': (e) => `${e.name ?? `flow ${e.flow}`}: ${e.promise}${e.promise_cause ? `, ${e.promise_cause}` : ''}`,
  'guarantees-moved': (e) => `${plural(e.flows, 'guarantee')} moved`,
  'hop-exceeded': (e) => `${e.name ?? `flow ${e.flow}`} stayed ${duration(e.longest_ns)} at ${e.at.switch}:${e.at.port}, budget ${duration(e.budget_ns)}`,
  'contract-exceeded': (e) => `${e.source} exceeded the contract of ${e.name ?? `flow ${e.flow}`}`,
  'mode-entered': (e) => `switch ${e.switch} entered mode ${e.level}`,
  cut: (e) => `link ${e.target} cut${byHand(e)}${restored(e)}`,
  heal: (e) => `link ${e.target} healed${byHand(e)}`,
};
/** Kinds that a time line marks, with the sign of each. */
export const MARKS = {
  cut: '✕', 'link-lost': '✕', heal: '○', 'link-found': '○', restored: '➜', returned: '↩', admitted: '+', withdrawn: '−',
  'mode-entered': 'M', 'switch-lost': '✕', 'switch-gone': '✕',
};

const byHand = (event) => (event.is_by_hand ? ' by hand' : '');

function restored({ restoration: it, outage_ns: outages }) {
  const worst = Math.max(0, ...Object.values(outages ?? {}));
  if (!it) return '';
  return `; ${plural(it.flows, 'flow')} moved, longest interruption ${duration(worst)}`;
}

export function words(event) {
  const known = KINDS[event.kind];
  if (known) return known(event);
  const about = event.name ?? event.link ?? event.target ?? event.switch ?? '';
  return `${event.kind.replaceAll('-', ' ')} ${about}`.trim();
}
