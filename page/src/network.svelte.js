// What is shown: the network and its promises, of a controller that runs or of a run that is
// over. Both are brought into one form here.

import { Connection } from './connection.js';
import { duration, percent, plural } from './units.js';

/** States of promises from the worst to the best, with the mark and the tone of each. */
export const STATES = {
  broken: { mark: '✕', tone: 'bad', word: 'broken' },
  late: { mark: '✕', tone: 'bad', word: 'late' },
  'not-covered': { mark: '✕', tone: 'bad', word: 'not covered' },
  overdue: { mark: '▲', tone: 'warn', word: 'may have been late' },
  exceeded: { mark: '▲', tone: 'warn', word: 'later than calculated' },
  disturbed: { mark: '◆', tone: 'warn', word: 'disturbed' },
  'one-way': { mark: '◐', tone: 'warn', word: 'holds on one of two ways' },
  unknown: { mark: '?', tone: 'warn', word: 'unknown' },
  'not-judged': { mark: '?', tone: 'warn', word: 'not judged' },
  refused: { mark: '⊘', tone: 'none', word: 'refused' },
  holds: { mark: '✓', tone: 'good', word: 'holds' },
  none: { mark: '·', tone: 'none', word: 'best effort' },
};
const BAD = ['broken', 'late', 'not-covered'];
const HOLDING = ['holds', 'one-way'];
/** In so many frames what lies on links is drawn anew, each time a part of them. */
export const PARTS = 8;

class Network {
  /** `controller`, or `run` for one that is over. */
  kind = $state('controller');
  status = $state.raw({ state: 'opening', since: Date.now() });
  title = $state('');
  graph = $state.raw({ switches: [], hosts: [], links: [], lanes: new Map() });
  events = $state.raw([]);
  caller = $state.raw(null);
  instance = $state.raw(null);
  /** The criticality mode, where the network has any. */
  mode = $state.raw(null);
  /** Facts of a run, for its evidence. */
  run = $state.raw(null);
  rows = [];
  samples = [];
  seenAt = 0;
  /** Counts changes of rows, which are too many to be watched one by one, and of samples. */
  tick = $state(0);
  beat = $state(0);
  /** The same of what lies on links, for each part of them. */
  pulses = $state(new Array(PARTS).fill(0));
  /** Whether links can be cut and healed by hand. */
  cables = $state(false);
  #pulsing = null;
  byId = new Map();
  #send = () => {};

  sorted = $derived.by(() => {
    this.tick;
    return this.rows.toSorted((a, b) => a.rank - b.rank || b.used - a.used || (a.name < b.name ? -1 : 1));
  });

  summary = $derived.by(() => {
    this.tick;
    return summarise(this);
  });

  /** Connects to the controller, by the worker that all tabs share where there are such. */
  connect() {
    const token = sessionStorage.getItem('token');
    if ('SharedWorker' in window) {
      const worker = new SharedWorker('/page/link.js', { type: 'module', name: 'taktos' });
      worker.port.onmessage = ({ data }) => this.take(data);
      this.#send = (message) => worker.port.postMessage(message);
      addEventListener('pagehide', () => this.#send({ leaves: true }));
    } else {
      const connection = new Connection((message) => this.take(message));
      connection.start();
      this.#send = ({ token }) => token !== undefined && connection.identify(token);
    }
    if (token) this.#send({ token });
  }

  /** Shows who asks; kept until this tab is closed. */
  identify(token) {
    sessionStorage.setItem('token', token);
    this.#send({ token });
  }

  take(message) {
    if (message.status) {
      this.status = message.status;
      if (message.status.state === 'over') this.#leave();
    }
    if (message.events) this.events = message.events;
    if (message.samples) this.samples = message.samples.slice();
    if (message.page) this.#takePage(message.page);
    if (message.event) {
      this.events = [...this.events.slice(-499), message.event];
      this.#takeEvent(message.event);
    }
    if (message.observed) this.#takeObserved(message.observed);
    if (message.sample) {
      this.samples.push(message.sample);
      if (this.samples.length > 3600) this.samples.shift();
      this.beat += 1;
    }
  }

  /** The controller was that of a run, which is over. */
  async #leave() {
    const report = await fetch('/run/report.json', { method: 'HEAD' }).catch(() => null);
    if (report?.ok) location.assign(`/?run${location.hash}`);
  }

  #takePage(page) {
    this.title = page.instance.id;
    this.instance = page.instance;
    this.caller = page.caller;
    this.mode = page.mode ?? null;
    this.cables = page.cables ?? false;
    // A network that is as it was is not drawn anew.
    const graph = graphOf(page.topology, page.layout);
    if (graph.signature !== this.graph.signature) this.graph = graph;
    for (const lane of this.graph.lanes.values()) lane.rate = 0;
    this.rows = page.flows.map((flow) => rowOf(flow, this.graph));
    this.byId = new Map(this.rows.map((row) => [row.id, row]));
    for (const row of this.rows) {
      for (const lane of row.lanes) {
        const known = this.graph.lanes.get(lane);
        if (known) known.rate += row.rate;
      }
    }
    this.#takeObserved(page.observed);
  }

  #takeObserved({ at_ns, flows, ports, isPart }) {
    this.seenAt = at_ns / 1e6;
    for (const [id, observed, frames, above] of flows) {
      const row = this.byId.get(id);
      if (!row) continue;
      if (row.frames !== frames) row.seenAt = this.seenAt;
      Object.assign(row, { observed, frames, above });
      judge(row);
    }
    for (const [datapath, port, longest, budget] of ports) {
      const lane = this.graph.lanes.get(`${datapath}:${port}`);
      if (lane) Object.assign(lane, { longest, budget, share: longest / budget });
    }
    if (isPart) return;
    this.tick += 1;
    this.pulse();
  }

  /** Has the map drawn anew, a part in each frame, so that no frame is held up. */
  pulse() {
    const isDue = this.#pulsing === null;
    this.#pulsing = 0;
    const next = () => {
      this.pulses[this.#pulsing] += 1;
      this.#pulsing += 1;
      if (this.#pulsing < PARTS) requestAnimationFrame(next);
      else this.#pulsing = null;
    };
    if (isDue) requestAnimationFrame(next);
  }

  /** Shows at once what cannot wait until all is shown anew. */
  #takeEvent(event) {
    if (event.kind === 'promise-changed') {
      const row = this.byId.get(event.flow);
      if (row) {
        Object.assign(row, { promise: event.promise, cause: event.promise_cause, way: event.travels });
        judge(row);
        this.tick += 1;
      }
    }
    if (event.kind === 'link-lost' || event.kind === 'link-found') {
      const link = this.graph.links.find((it) => it.id === event.link);
      if (link) {
        link.up = event.kind === 'link-found';
        this.graph = { ...this.graph, signature: null };
      }
    }
  }

  async ask(method, path, body) {
    const token = sessionStorage.getItem('token');
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const response = await fetch(`/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    const answer = text ? JSON.parse(text) : {};
    if (!response.ok) answer.error ??= { message: `the answer has status ${response.status}` };
    return { ok: response.ok, status: response.status, answer };
  }

  may(role) {
    const roles = ['read', 'operate', 'administer'];
    return this.kind === 'controller' && roles.indexOf(this.caller?.role) >= roles.indexOf(role);
  }

  /** Returns what joins a switch or a host to others, by its key. */
  linksOf(key) {
    return this.graph.links.filter((link) => link.a === key || link.b === key);
  }
}

/** How much a row needs to be looked at: the less, the more. */
function rank(row) {
  if (row.deadline === null) return 9;
  if (row.state === 'refused') return 8;
  return BAD.includes(row.state) ? 0 : HOLDING.includes(row.state) ? 2 : 1;
}

/** Says how a promise stands, with what was seen of it. */
export function judge(row) {
  const seen = row.observed;
  const late = row.deadline !== null && seen > row.deadline;
  const exceeded = row.bound !== null && seen > row.bound;
  row.state = row.promise;
  if (['holds', 'unknown', 'disturbed'].includes(row.promise)) {
    // Of a run it is known; the longest stays that switches tell are of different frames.
    if (late) row.state = row.report ? 'late' : 'overdue';
    else if (exceeded && row.promise === 'holds') row.state = 'exceeded';
    // Of a promise that holds a cause says which way is left.
    else if (row.promise === 'holds' && row.cause && !row.report) row.state = 'one-way';
  }
  const used = seen ?? row.bound;
  row.margin = row.deadline === null || used === null ? null : row.deadline - used;
  row.used = row.deadline ? (used ?? 0) / row.deadline : 0;
  row.rank = rank(row);
}

function summarise({ rows, events, kind, run, graph }) {
  const promised = rows.filter((row) => row.deadline !== null && row.promise !== 'refused');
  const holding = promised.filter((row) => HOLDING.includes(row.state));
  const others = promised.filter((row) => row.state !== 'holds');
  const worst = promised.reduce((least, row) => (row.margin !== null && row.used > (least?.used ?? -1) ? row : least), null);
  let tone = 'good';
  if (worst && worst.used > 0.8) tone = 'warn';
  if (others.length) tone = 'warn';
  if (others.some((row) => BAD.includes(row.state))) tone = 'bad';
  if (!promised.length) tone = 'none';
  const words = [];
  if (!promised.length) {
    const what = [plural(graph.switches.length, 'switch'), plural(graph.links.filter((it) => !it.host).length, 'link'), plural(graph.hosts.length, 'host')];
    return { tone, words: [`Nothing is promised yet. ${what.join(', ')} are known.`], worst: null };
  }
  words.push(`${holding.length} of ${promised.length} guarantees ${kind === 'run' ? 'held' : 'hold'}.`);
  for (const [state, { word }] of Object.entries(STATES)) {
    const those = others.filter((row) => row.state === state);
    if (those.length) words.push(`${those[0].name}${those.length > 1 ? ` and ${those.length - 1} more` : ''}: ${word}${those[0].cause ? ` (${those[0].cause})` : ''}.`);
  }
  if (worst && worst.margin >= 0) words.push(`Smallest margin ${duration(worst.margin)} of ${duration(worst.deadline)} (${worst.name}).`);
  if (worst && worst.margin < 0) words.push(`${worst.name} ${kind === 'run' ? 'was' : 'may have been'} ${duration(-worst.margin)} late.`);
  const failover = events.findLast((event) => event.kind === 'restored');
  if (failover) words.push(`Last failover ${duration(failover.took_ns)} at ${new Date(failover.at_ns / 1e6).toLocaleTimeString('en-GB')}, ${plural(failover.flows, 'flow')} moved.`);
  if (run?.by_hand) words.push(`Touched by hand: ${run.by_hand.join(', ')}.`);
  if (run?.interruption) words.push(`Longest interruption ${duration(run.interruption)}.`);
  return { tone, words, worst };
}

function graphOf(topology, layout) {
  const names = new Map(topology.switches.map((it) => [it.datapath, it.name]));
  const switches = topology.switches.map((it, at) => ({
    key: it.name, name: it.name, datapath: it.datapath, x: layout.switches[at][0], y: layout.switches[at][1],
    up: it.connected, profile: it.profile, host: false,
  }));
  const hosts = topology.hosts.map((it, at) => ({
    key: `host ${it.name}`, name: it.name, x: layout.hosts[at][0], y: layout.hosts[at][1],
    up: it.attachment !== null, at: it.attachment && names.get(it.attachment.datapath), host: true,
    addresses: it.addresses,
  }));
  const lanes = new Map();
  const lane = (end) => {
    const key = `${end.datapath}:${end.port}`;
    lanes.set(key, { key, rate: 0, share: null, longest: null, budget: null });
    return key;
  };
  const links = topology.links.map((it) => ({
    id: it.id, a: names.get(it.ends[0].datapath), b: names.get(it.ends[1].datapath), up: it.up, away: it.away,
    since: it.since_ns, host: false, out: lane(it.ends[0]), back: lane(it.ends[1]), ports: it.ends.map((end) => end.port),
  }));
  topology.hosts.forEach((it, at) => {
    const end = it.attachment;
    if (!end || !names.has(end.datapath)) return;
    links.push({ id: `host ${it.name}`, a: names.get(end.datapath), b: hosts[at].key, up: true, away: false, host: true, out: lane(end), back: null });
  });
  const place = (it) => [it.key, it.x, it.y, it.up, it.at, it.profile, it.addresses];
  const signature = JSON.stringify([switches.map(place), hosts.map(place), links.map((it) => [it.id, it.up, it.away, it.out, it.back])]);
  return { signature, switches, hosts, links, lanes, byId: new Map(links.map((it) => [it.id, it])), places: new Map([...switches, ...hosts].map((it) => [it.key, it])) };
}

function rowOf(flow, graph) {
  const row = {
    id: flow.id, name: flow.name, class: flow.class, source: flow.source, destinations: flow.destinations,
    deadline: flow.deadline_ns, bound: flow.guarantee_ns, rate: flow.rate_bps, promise: flow.promise,
    since: flow.promise_since_ns, cause: flow.promise_cause ?? null, way: flow.travels,
    links: flow.links, backup: flow.backup, observed: null, median: null, frames: 0, above: 0, lost: null, seenAt: 0,
  };
  row.lanes = lanesOf(row, graph);
  judge(row);
  return row;
}

/** The lanes that a flow uses, from its source on, with those to its receivers. */
export function lanesOf(row, graph) {
  const lanes = [];
  let reached = [graph.places.get(`host ${row.source}`)?.at];
  const left = new Set(row.links);
  while (reached.length && left.size) {
    const next = [];
    for (const id of left) {
      const link = graph.byId.get(id);
      if (!link) left.delete(id);
      else if (reached.includes(link.a)) next.push([id, link.out, link.b]);
      else if (reached.includes(link.b)) next.push([id, link.back, link.a]);
    }
    for (const [id, lane] of next) {
      left.delete(id);
      lanes.push(lane);
    }
    reached = next.map(([, , far]) => far);
  }
  for (const name of row.destinations) {
    const access = graph.byId.get(`host ${name}`);
    if (access) lanes.push(access.out);
  }
  return lanes;
}

export const network = new Network();
export { percent };
