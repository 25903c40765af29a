// Groups of switches that are shown as one where a network is large.

/** So many switches are shown one by one. */
export const MOST_SHOWN = 60;
const MOST_TOGETHER = 8;

/** Puts each switch into a group with its neighbours: the one with most neighbours begins. */
export function grouped(graph) {
  const neighbours = new Map(graph.switches.map((it) => [it.key, []]));
  for (const link of graph.links) {
    if (link.host) continue;
    neighbours.get(link.a)?.push(link.b);
    neighbours.get(link.b)?.push(link.a);
  }
  const groupOf = new Map();
  const members = new Map();
  const order = graph.switches.toSorted((a, b) => neighbours.get(b.key).length - neighbours.get(a.key).length);
  for (const { key } of order) {
    if (groupOf.has(key)) continue;
    const group = [key];
    groupOf.set(key, key);
    for (let at = 0; at < group.length; at += 1) {
      for (const next of neighbours.get(group[at])) {
        if (group.length >= MOST_TOGETHER || groupOf.has(next)) continue;
        groupOf.set(next, key);
        group.push(next);
      }
    }
    members.set(key, group);
  }
  // What is left over between groups joins the smallest of those beside it.
  for (const [key, group] of members) {
    if (group.length > MOST_TOGETHER / 2) continue;
    const beside = new Set(group.flatMap((it) => neighbours.get(it)).map((it) => groupOf.get(it)));
    beside.delete(key);
    const [smallest] = [...beside].sort((a, b) => members.get(a).length - members.get(b).length);
    if (smallest === undefined) continue;
    for (const it of group) groupOf.set(it, smallest);
    members.get(smallest).push(...group);
    members.delete(key);
  }
  return groupOf;
}

/**
 * Returns what the map draws: nodes, and lines between them with both lanes. `open` names the
 * groups that are shown switch by switch.
 */
export function drawn(graph, groupOf, open) {
  const shownAs = (key) => {
    const group = groupOf?.get(key);
    return group === undefined || open.has(group) ? key : `group ${group}`;
  };
  const groups = new Map();
  const nodes = [];
  for (const it of graph.switches) {
    const key = shownAs(it.key);
    if (key === it.key) {
      nodes.push({ ...it, group: groupOf?.get(it.key) });
      continue;
    }
    if (!groups.has(key)) groups.set(key, { key, members: [] });
    groups.get(key).members.push(it);
  }
  for (const { key, members } of groups.values()) {
    const mean = (axis) => members.reduce((sum, it) => sum + it[axis], 0) / members.length;
    const name = members.length > 1 ? `${key.slice(6)} +${members.length - 1}` : members[0].name;
    nodes.push({ key, name, x: mean('x'), y: mean('y'), up: members.every((it) => it.up), members, host: false });
  }
  for (const it of graph.hosts) if (!it.at || shownAs(it.at) === it.at) nodes.push(it);
  const places = new Map(nodes.map((it) => [it.key, it]));
  const lines = new Map();
  for (const link of graph.links) {
    const [a, b] = [link.host ? link.a : shownAs(link.a), link.host ? link.b : shownAs(link.b)];
    if (a === b || !places.has(a) || !places.has(b)) continue;
    const key = a < b ? `${a}|${b}` : `${b}|${a}`;
    const single = a === link.a && b === link.b;
    const name = single ? link.id : key;
    if (!lines.has(name)) lines.set(name, { key: name, from: places.get(a < b || single ? a : b), to: places.get(a < b || single ? b : a), links: [], out: [], back: [] });
    const line = lines.get(name);
    const same = line.from.key === a;
    line.links.push(link);
    if (link.out) line[same ? 'out' : 'back'].push(link.out);
    if (link.back) line[same ? 'back' : 'out'].push(link.back);
  }
  return { nodes, lines: [...lines.values()], places };
}

/** Returns the nearest node in a direction of the arrow keys. */
export function nearest(nodes, from, [dx, dy]) {
  let best = null;
  let least = Infinity;
  for (const node of nodes) {
    const [x, y] = [node.x - from.x, node.y - from.y];
    const along = x * dx + y * dy;
    if (node === from || along <= 0) continue;
    const cost = along + 2.5 * Math.abs(x * dy - y * dx);
    if (cost < least) [best, least] = [node, cost];
  }
  return best;
}
