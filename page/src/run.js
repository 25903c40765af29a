// A run that is over, from its report.

import { judge } from './network.svelte.js';

const PROMISES = {
  held: 'holds', broken: 'broken', exceeded: 'holds', refused: 'refused', 'not-judged': 'not-judged',
  untried: 'not-judged', 'best-effort': 'none',
};

/** Loads the run that this address serves, and shows it. */
export async function loadRun(network) {
  const files = ['/run/report.json', '/run/layout.json'];
  const [report, layout] = await Promise.all(files.map(async (it) => (await fetch(it)).json()));
  const graph = graphOf(report.topology, layout);
  const joined = new Map(graph.links.flatMap((it) => [[`${it.a}|${it.b}`, it], [`${it.b}|${it.a}`, it]]));
  network.kind = 'run';
  network.title = report.title;
  network.graph = graph;
  network.rows = report.flows.map((flow, id) => rowOf(flow, id, graph, joined));
  network.byId = new Map(network.rows.map((row) => [row.id, row]));
  for (const row of network.rows) for (const lane of row.lanes) graph.lanes.get(lane).rate += row.rate;
  network.run = {
    ...report,
    seconds: report.duration_ns / 1e9,
    interruption: Math.max(0, ...report.flows.map((it) => it.interruption_ns ?? 0)),
  };
  network.samples = samplesOf(report);
  network.status = { state: 'run', since: Date.now() };
}

/** Shows the run as it was after so many seconds; as it ended without any. */
export function replay(network, seconds) {
  const until = seconds === null ? Infinity : seconds * 1e9;
  for (const row of network.rows) {
    const { time_line: line, highest_ns: highest } = row.report;
    const after = line && seconds !== null && until < network.run.duration_ns;
    const seen = after ? line.max_ns.slice(0, Math.ceil(until / line.interval_ns)) : null;
    row.observed = seen ? seen.reduce((most, it) => Math.max(most, it), 0) || null : highest;
    row.lost = lostUntil(row.report, after ? until : null);
    judge(row);
  }
  const happened = network.run.events.filter((event) => event.at_ns <= until);
  const links = new Map(network.graph.links.map((link) => [link.id, link]));
  for (const link of links.values()) link.up = true;
  for (const { kind, target } of happened) {
    const link = links.get(target);
    if (link && (kind === 'cut' || kind === 'heal')) link.up = kind === 'heal';
  }
  network.graph = { ...network.graph };
  network.events = happened;
  network.tick += 1;
  network.pulse();
  network.beat += 1;
}

function lostUntil(flow, until) {
  if (until === null) return flow.lost;
  const { lost, interval_ns: interval } = flow.time_line;
  return Object.entries(lost).reduce((sum, [at, many]) => sum + (at * interval < until ? many : 0), 0);
}

function graphOf(topology, layout) {
  const of = (kind) => topology.nodes.filter((node) => node.kind === kind);
  const isHost = new Set(of('host').map((node) => node.name));
  const key = (name) => (isHost.has(name) ? `host ${name}` : name);
  const place = (kind) => (node, at) => ({
    key: key(node.name), name: node.name, up: true, host: kind === 'hosts',
    x: layout[kind][at][0], y: layout[kind][at][1],
  });
  const lanes = new Map();
  const lane = (id) => {
    lanes.set(id, { key: id, rate: 0, share: null });
    return id;
  };
  const links = topology.links.map((it) => ({
    id: it.name, a: key(it.a), b: key(it.b), up: true, away: false, capacity: it.rate_bps,
    host: isHost.has(it.a) || isHost.has(it.b), out: lane(`${it.name} ${it.a}`), back: lane(`${it.name} ${it.b}`),
  }));
  const switches = of('switch').map(place('switches'));
  const hosts = of('host').map(place('hosts'));
  const places = new Map([...switches, ...hosts].map((it) => [it.key, it]));
  for (const link of links.filter((it) => it.host)) {
    const host = places.get(link.a).host ? link.a : link.b;
    places.get(host).at = host === link.a ? link.b : link.a;
  }
  return { switches, hosts, links, lanes, places, byId: new Map(links.map((it) => [it.id, it])) };
}

function rowOf(flow, id, graph, joined) {
  const key = (name) => (graph.places.has(`host ${name}`) ? `host ${name}` : name);
  const steps = (routes) => routes.flatMap((route) => route.slice(1).map((to, at) => [key(route[at]), key(to)]));
  const used = steps(flow.routes).map(([from, to]) => [joined.get(`${from}|${to}`), from]);
  const links = used.filter(([link]) => link);
  const inner = new Set(links.filter(([link]) => !link.host).map(([link]) => link.id));
  const others = steps(flow.alternatives).map(([from, to]) => joined.get(`${from}|${to}`));
  const backup = others.filter((link) => link && !link.host && !inner.has(link.id)).map((link) => link.id);
  const row = {
    id, name: flow.name, class: flow.queue, source: flow.source, destinations: flow.destinations,
    deadline: flow.verdict === 'best-effort' ? null : flow.deadline_ns, bound: flow.guarantee_ns, rate: flow.rate_bps ?? 0,
    promise: PROMISES[flow.verdict] ?? 'unknown', cause: flow.reason ?? flow.breaches?.[0]?.text ?? null,
    way: { way: 'base' }, links: [...inner], backup: [...new Set(backup)],
    lanes: [...new Set(links.map(([link, from]) => (link.a === from ? link.out : link.back)))],
    observed: flow.highest_ns, median: flow.latency_ns?.p50 ?? null, frames: flow.received, above: flow.late, lost: flow.lost,
    report: flow,
  };
  judge(row);
  return row;
}

/** How late the frames of each class were at most, by intervals. */
function samplesOf(report) {
  const lines = report.flows.filter((flow) => flow.time_line && flow.verdict !== 'best-effort');
  if (!lines.length) return [];
  const interval = lines[0].time_line.interval_ns;
  const most = lines.reduce((longest, flow) => Math.max(longest, flow.time_line.max_ns.length), 0);
  const samples = Array.from({ length: most }, (_, at) => ({ at: (at + 1) * interval / 1e9, highest: {} }));
  for (const { queue, time_line: line } of lines) {
    line.max_ns.forEach((ns, at) => {
      const { highest } = samples[at];
      if (ns) highest[queue] = Math.max(highest[queue] ?? 0, ns);
    });
  }
  return samples;
}
