// Large networks. Their controller is played here, as the interface describes it, so that a
// thousand flows change each second without a thousand flows' traffic.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import test from 'node:test';
import { accessible, browser, open, picture, sentence } from './browser.js';
import { root } from './taktos.js';

const [COLUMNS, ROWS] = [41, 5];
const DAY_NS = 1_800_000_000_000_000_000;
const KINDS = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

const hex = (number) => number.toString(16).padStart(16, '0');

/** A network of 205 switches and 414 links with so many flows. */
function network(flows) {
  const count = COLUMNS * ROWS;
  const links = [];
  const ports = new Array(count).fill(1);
  const join = (a, b) => {
    const ends = [a, b].map((at) => ({ datapath: hex(at + 1), switch: `s${at + 1}`, port: (ports[at] += 1) }));
    links.push({ id: ends.map((it) => `${parseInt(it.datapath, 16).toString(16)}:${it.port}`).join('-'), ends, up: true, away: false, since_ns: DAY_NS });
  };
  for (let at = 0; at < count; at += 1) {
    join(at, Math.floor(at / COLUMNS) * COLUMNS + ((at + 1) % COLUMNS));
    join(at, (at + COLUMNS) % count);
  }
  for (let at = 0; links.length < 414; at += 11) join(at, (at + COLUMNS + 1) % count);
  const numbers = [...new Array(count).keys()];
  const hosts = numbers.map((at) => ({ name: `h${at + 1}`, mac: '', addresses: [], origin: 'configured', attachment: { datapath: hex(at + 1), switch: `s${at + 1}`, port: 1 } }));
  const flow = (id) => {
    const from = (id * 7) % count;
    const way = [links[from * 2], links[((from + 1) % count) * 2]];
    return {
      id, name: `f${id}`, class: [6, 5, 3][id % 3], source: `h${from + 1}`, destinations: [`h${((from + 2) % count) + 1}`],
      deadline_ns: 5_000_000, guarantee_ns: 2_000_000 + id, rate_bps: 1e6, promise: 'holds', promise_since_ns: DAY_NS,
      travels: { way: 'base' }, links: way.map((it) => it.id), backup: [links[1].id],
    };
  };
  const place = (at) => [(at % COLUMNS) * 1000, Math.floor(at / COLUMNS) * 4000];
  return {
    at_ns: DAY_NS, event: 0, instance: { id: 'large', version: '0', since_ns: DAY_NS, ready: true },
    topology: { switches: numbers.map((at) => ({ datapath: hex(at + 1), name: `s${at + 1}`, connected: true, profile: 'explained', ports: [] })), links, hosts, counts: {} },
    layout: { switches: numbers.map(place), hosts: numbers.map((at) => place(at).map((it) => it + 350)) },
    flows: [...new Array(flows).keys()].map((id) => flow(id + 1)),
    observed: observed(flows, 1, links),
  };
}

function observed(flows, second, links) {
  return {
    at_ns: DAY_NS + second * 1e9,
    flows: [...new Array(flows).keys()].map((id) => [id + 1, 100_000 + ((id * 7919 + second * 104_729) % 900_000), second * 50, 0]),
    ports: links.map((link, at) => [link.ends[0].datapath, link.ends[0].port, ((at * 31 + second * 17) % 100) * 1000, 100_000]),
  };
}

/** Plays the controller, with news of all flows each second, or so often. */
async function played(t, flows, paceMs = 1000, change = () => {}) {
  const page = network(flows);
  change(page);
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://here').pathname;
    const file = path === '/' ? 'index.html' : path.startsWith('/page/') ? path.slice(6) : null;
    if (file) {
      response.setHeader('Content-Type', KINDS[file.split('.').at(-1)]);
      response.setHeader('Content-Encoding', 'gzip');
      return response.end(readFileSync(`${root}crates/taktos/page/${file}.gz`));
    }
    if (path === '/api/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('retry: 1000\n\n');
      let second = 1;
      const tell = () => {
        response.write(`event: observed\ndata: ${JSON.stringify(observed(flows, second += 1, page.topology.links))}\n\n`);
        if (second % 20) return;
        const event = { id: second, at_ns: DAY_NS + second * 1e9, kind: 'promise-changed', flow: 1 + (second % flows), name: 'f', promise: 'holds', travels: { way: 'base' } };
        response.write(`event: promise-changed\ndata: ${JSON.stringify(event)}\n\n`);
      };
      const timer = setInterval(tell, paceMs);
      return response.on('close', () => clearInterval(timer));
    }
    const answers = { '/api/v1/page': page, '/api/v1/caller': { name: 'viewer', role: 'read' }, '/api/v1/events/latest': { events: [] } };
    response.writeHead(answers[path] ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answers[path] ?? { error: { message: 'not played' } }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

/** Watches for so long how the page gets on, and says it. */
async function watched(t, page, name, seconds, meanwhile = async () => {}) {
  await page.evaluate(() => {
    window.tasks = [];
    window.frames = 0;
    // Who watches a second time is told once.
    window.watching ??= new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((it) => it.duration)));
    window.watching.observe({ entryTypes: ['longtask'] });
    const count = () => {
      window.frames += 1;
      requestAnimationFrame(count);
    };
    window.counting ??= count() ?? true;
  });
  const until = Date.now() + seconds * 1000;
  while (Date.now() < until) {
    await meanwhile();
    await page.waitForTimeout(100);
  }
  const { tasks, frames } = await page.evaluate(() => ({ tasks: window.tasks, frames: window.frames }));
  t.diagnostic(`${name}: ${tasks.length} tasks of 50 ms or more in ${seconds} s, the longest ${Math.max(0, ...tasks)} ms; ${(frames / seconds).toFixed(0)} frames a second`);
}

test('each state of a promise has a sign and a word of its own, and the sentence has the tone of the worst', async (t) => {
  const [DEADLINE, BOUND] = [5_000_000, 2_000_000];
  const states = [
    [{ promise: 'broken', promise_cause: 'a switch does not take its entry' }, 1e6, '✕', 'broken', 'bad'],
    [{ promise: 'not-covered' }, 1e6, '✕', 'not covered', 'bad'],
    [{ promise: 'holds' }, DEADLINE + 1, '▲', 'may have been late', 'warn'],
    [{ promise: 'holds' }, BOUND + 100, '▲', 'later than calculated', 'warn'],
    [{ promise: 'disturbed' }, 1e6, '◆', 'disturbed', 'warn'],
    [{ promise: 'unknown' }, 1e6, '?', 'unknown', 'warn'],
    [{ promise: 'holds', promise_cause: 'link 1:2-2:2 on one of its two ways is broken' }, 1e6, '◐', 'holds on one of two ways', 'warn'],
    [{ promise: 'holds' }, 1e6, '✓', 'holds', 'good'],
    [{ promise: 'none', deadline_ns: null, guarantee_ns: null }, 1e6, '·', 'best effort', 'none'],
  ];
  const opened = await browser(t);
  for (const from of [0, 2, 7, 8]) {
    const given = states.slice(from);
    const url = await played(t, given.length, 1e9, (page) => given.forEach(([promise, seen], at) => {
      Object.assign(page.flows[at], promise);
      page.observed.flows[at][1] = seen;
    }));
    const page = await open(t, opened, url);

    await page.locator(`header.strip.${given[0][4]}`).waitFor();
    for (const [at, [, , mark, word]] of given.entries()) {
      const row = page.getByRole('option', { name: `f${at + 1}: ${word};` });
      assert.equal(await row.locator('.mark').textContent(), mark);
    }
    const holding = given.filter(([, , mark]) => '◐✓'.includes(mark)).length;
    const promised = given.filter(([{ promise }]) => promise !== 'none').length;
    const words = promised ? `${holding} of ${promised} guarantees hold.` : 'Nothing is promised yet.';
    await sentence(page).filter({ hasText: words }).waitFor();
    await accessible(page);
    await page.close();
  }
});

test('205 switches are shown in groups that open, and all at once where that is wanted', async (t) => {
  const url = await played(t, 1000);
  const page = await open(t, await browser(t), url);

  await sentence(page).filter({ hasText: '1000 of 1000 guarantees hold.' }).waitFor();
  const groups = page.getByRole('button', { name: /, group of/ });
  const before = await groups.count();
  assert.ok(before > 20 && before <= 60, `${before} groups`);
  await accessible(page);
  await picture(page, 'page-groups');
  await groups.first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^switch s/ }).first().waitFor();
  assert.equal(await groups.count(), before - 1);
  await page.getByRole('button', { name: 'Show all switches' }).click();
  await page.waitForFunction(() => document.querySelectorAll('g.node').length === 205);
  await page.getByPlaceholder('Find flows and hosts').fill('s117');
  assert.equal(await page.locator('g.node.found').count(), 1);
});

test('a thousand flows that change each second are shown as they change', async (t) => {
  const url = await played(t, 1000);
  const page = await open(t, await browser(t), url);
  await sentence(page).filter({ hasText: '1000 of 1000' }).waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  t.diagnostic(`first paint after ${paint.toFixed(0)} ms`);

  const first = await page.getByRole('option').first().textContent();
  await watched(t, page, '1,000 flows', 10);

  assert.notEqual(await page.getByRole('option').first().textContent(), first);
  await page.getByPlaceholder('Find flows and hosts').fill('f500');
  const alone = page.getByRole('option');
  const before = await alone.textContent();
  await page.waitForFunction((text) => document.querySelector('[role=option]').textContent !== text, before);
  assert.match(await alone.textContent(), /^f500: /);
  await page.getByPlaceholder('Find flows and hosts').fill('');
  await page.getByRole('button', { name: 'Show all switches' }).click();
  await page.waitForFunction(() => document.querySelectorAll('g.node').length === 205);
  await page.waitForTimeout(500);
  await watched(t, page, '1,000 flows, 205 switches one by one', 10);
});

test('of ten thousand rows those are drawn that are seen', async (t) => {
  const url = await played(t, 10000);
  const page = await open(t, await browser(t), url, { expects: /404/ });
  await sentence(page).filter({ hasText: /10.?000 of 10.?000/ }).waitFor();
  const list = page.getByRole('listbox');

  await watched(t, page, '10,000 flows while the list is scrolled', 10, () => list.evaluate((it) => it.scrollBy(0, 900)));

  assert.ok((await page.getByRole('option').count()) < 60);
  await list.focus();
  await page.keyboard.press('End');
  await page.locator('[role=option][aria-posinset="10000"]').waitFor();
});

// For so many minutes; ten times as much happens meanwhile as usually does.
const minutes = Number(process.env.TAKTOS_SOAK_MINUTES ?? 0);
test('what the page keeps does not grow', { skip: minutes ? false : 'TAKTOS_SOAK_MINUTES says for how long' }, async (t) => {
  const url = await played(t, 1000, 100);
  const page = await open(t, await browser(t), url);
  await sentence(page).filter({ hasText: '1000 of 1000' }).waitFor();
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    return { mb: usedSize / 1e6, nodes };
  };

  const kept = [];
  for (let minute = 0; minute <= minutes; minute += 1) {
    kept.push(await heap());
    t.diagnostic(`after ${minute} min: ${kept.at(-1).mb.toFixed(2)} MB, ${kept.at(-1).nodes} elements`);
    if (minute < minutes) await page.waitForTimeout(60000);
  }

  // Up to 500 events and an hour of samples are kept; the rest is as it was.
  const [first, last] = [kept[Math.min(1, minutes)], kept.at(-1)];
  assert.ok(last.mb < first.mb + 6, `${first.mb} MB, then ${last.mb} MB`);
  assert.ok(last.nodes < first.nodes + 700, `${first.nodes} elements, then ${last.nodes}`);
});
