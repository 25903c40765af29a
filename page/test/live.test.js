// A run with real frames, live: needs the right to make network namespaces.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { accessible, browser, open, picture, sentence } from './browser.js';
import { folder, onTerminal, root, taktos } from './taktos.js';

const skip = process.getuid() === 0 ? false : 'needs root';

test('a cut is seen live, flows are asked for, refused and admitted, and the end of the run is shown', { skip }, async (t) => {
  const out = folder(t);
  // On a busy machine a browser takes its time to be there.
  const substation = readFileSync(join(root, 'scenarios/substation.toml'), 'utf8');
  const scenario = `${out}/substation.toml`;
  writeFileSync(scenario, substation.replace('at = "12 s"', 'at = "25 s"').replace('at = "20 s"', 'at = "55 s"').replace('duration = "30 s"', 'duration = "60 s"'));
  const run = taktos(t, 'run', scenario, '--world', 'lab', '--profile', 'committed', '--out', out, '--page=127.0.0.1:0', '--page-role', 'administer');
  const url = await run.line('page: ');
  const page = await open(t, await browser(t), url, { expects: /404|422|ERR_/ });

  await sentence(page).filter({ hasText: /of 1[123] guarantees hold/ }).waitFor();
  await page.getByRole('option', { name: /^mms-b2: .* observed [1-9]/ }).click();
  const panel = page.getByRole('complementary', { name: 'Flow mms-b2' });
  await panel.getByText('would break it first').waitFor();

  await t.test('the link that is cut is marked, and who has moved is said', async () => {
    await page.locator('text.cut').waitFor({ timeout: 60000 });
    await sentence(page).filter({ hasText: /Last failover .* flows moved/ }).waitFor();
    await page.getByText(/flows moved away from link/).first().waitFor();
    await panel.getByText(/around link/).waitFor();
    await picture(page, 'page-cut');
  });

  await t.test('a flow that does not fit is refused with what binds, and one that fits is admitted', async () => {
    await page.getByRole('button', { name: 'May I add a flow?' }).click();
    const dialog = page.getByRole('dialog');
    const fill = async (fields) => {
      for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
    };
    await dialog.getByRole('combobox', { name: /^From/ }).selectOption('recorder');
    await dialog.getByRole('combobox', { name: /^To/ }).selectOption('station');
    await fill({ Name: 'archive-2', 'Frame (bytes)': '1514', 'Period (ms)': '0.12', 'Deadline (ms)': '20' });
    await dialog.getByRole('button', { name: 'Ask', exact: true }).click();
    await dialog.getByText(/No: .*(Mbit\/s|bytes|µs|us|ms)/).waitFor();
    await accessible(page);
    await picture(page, 'page-refused');
    await fill({ Name: 'log', 'Frame (bytes)': '200', 'Period (ms)': '20', 'Deadline (ms)': '50' });
    await dialog.getByRole('button', { name: 'Ask', exact: true }).click();
    await dialog.getByText('Yes. No frame will be later than').waitFor();
    await dialog.getByRole('button', { name: 'Add it' }).click();
    await dialog.getByText('Admitted.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  await t.test('it is withdrawn after a question, by who may', async () => {
    await page.getByRole('option', { name: /^log: / }).click();
    await page.getByRole('button', { name: 'Withdraw this flow' }).click();
    await page.getByRole('button', { name: 'Yes, do it' }).click();
    await page.getByRole('option', { name: /^log: / }).waitFor({ state: 'detached' });
  });

  await t.test('when the run is over, the same page shows what came of it', async () => {
    await page.waitForURL(/\?run/, { timeout: 120000 });
    await page.getByText(/run in lab, seed 1/).waitFor();
    assert.match(run.said, /the page shows the run until Ctrl-C/);
  });
});

/** Begins a run of one flow that two ways carry, and in which nothing is planned to happen. */
function seamless(t, seconds, ...more) {
  const out = folder(t);
  const [quiet] = readFileSync(join(root, 'scenarios/seamless.toml'), 'utf8').split('[[events]]');
  const scenario = `${out}/seamless.toml`;
  writeFileSync(scenario, quiet.replace('duration = "4 s"', `duration = "${seconds} s"`));
  return { out, run: taktos(t, 'run', scenario, '--world', 'lab', '--profile', 'committed', '--out', out, '--page=127.0.0.1:0', ...more) };
}

test('a link is cut and healed by hand, the promise holds by the other way, and the report says who touched it', { skip }, async (t) => {
  const { out, run } = seamless(t, 40, '--page-role', 'administer');
  const page = await open(t, await browser(t), await run.line('page: '), { expects: /404|ERR_/ });
  const plug = async (word) => {
    const row = page.getByRole('complementary', { name: 'Switch s1' }).getByRole('row').filter({ hasText: 's2' });
    await row.getByRole('button', { name: word }).click();
    await page.getByRole('button', { name: 'Yes, do it' }).click();
  };
  await sentence(page).filter({ hasText: '1 of 1 guarantees hold. Smallest' }).waitFor();
  await page.getByRole('button', { name: /^switch s1,/ }).focus();
  await page.keyboard.press('Enter');

  await plug('Cut');
  await sentence(page).filter({ hasText: /1 of 1 guarantees hold\. sv: holds on one of two ways \(link \S+ on one of its two ways is broken\)/ }).waitFor();
  await page.locator('text.cut').waitFor();
  await accessible(page);
  await picture(page, 'page-one-way');
  await plug('Heal');
  await sentence(page).filter({ hasText: '1 of 1 guarantees hold. Smallest' }).waitFor();
  const log = await (await fetch(new URL('/api/v1/audit', page.url()))).json();

  assert.deepEqual(log.entries.map((it) => [it.operation, it.by, it.about]), [
    ['change-cable', 'local', ['s1-s2 cut']], ['change-cable', 'local', ['s1-s2 healed']],
  ]);
  await page.waitForURL(/\?run/, { timeout: 120000 });
  await sentence(page).filter({ hasText: 'Touched by hand: change-cable s1-s2 cut, change-cable s1-s2 healed.' }).waitFor();
  await page.getByText('link s1-s2 cut by hand').waitFor();
  const report = JSON.parse(readFileSync(`${out}/report.json`, 'utf8'));
  assert.deepEqual(report.events.map((it) => [it.kind, it.target, it.is_by_hand]), [['cut', 's1-s2', true], ['heal', 's1-s2', true]]);
  assert.match(report.summary, /Touched by hand 2 times/);
  assert.match(run.said, /link s1-s2 cut by hand/);
});

test('a switch is drained before it is taken away: its flow goes around it and loses nothing', { skip }, async (t) => {
  const out = folder(t);
  const [quiet] = readFileSync(join(root, 'scenarios/diamond.toml'), 'utf8').split('[[events]]');
  const scenario = `${out}/diamond.toml`;
  writeFileSync(scenario, quiet.replace('duration = "4 s"', 'duration = "40 s"'));
  const run = taktos(t, 'run', scenario, '--world', 'lab', '--profile', 'committed', '--out', out, '--page=127.0.0.1:0', '--page-role', 'administer');
  const page = await open(t, await browser(t), await run.line('page: '), { expects: /404|ERR_/ });
  await sentence(page).filter({ hasText: '1 of 1 guarantees hold' }).waitFor();
  const way = async () => (await (await fetch(new URL('/api/v1/flows', page.url()))).json()).flows[0].route.switches;
  const [, passed] = await way();
  await page.getByRole('button', { name: new RegExp(`^switch ${passed},`) }).focus();
  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary', { name: `Switch ${passed}` });
  await panel.getByText('1 flows').waitFor();

  await panel.getByRole('button', { name: 'Drain this switch' }).click();
  await page.getByRole('button', { name: 'Yes, do it' }).click();

  await panel.getByText('Drained: nothing passes it').waitFor();
  await panel.getByText('0 flows').waitFor();
  assert.ok(!(await way()).includes(passed));
  await accessible(page);
  await panel.getByRole('button', { name: 'Use this switch again' }).click();
  await page.getByRole('button', { name: 'Yes, do it' }).click();
  await panel.getByText('Drained').waitFor({ state: 'detached' });
  await page.waitForURL(/\?run/, { timeout: 120000 });
  const report = JSON.parse(readFileSync(`${out}/report.json`, 'utf8'));
  assert.equal(report.flows[0].lost, report.flows[0].unseen ?? 0);
});

test('who is not told otherwise looks at a run and changes nothing', { skip }, async (t) => {
  const { run } = seamless(t, 40);
  const page = await open(t, await browser(t), await run.line('page: '), { expects: /403|404|ERR_/ });

  await page.getByText('local: may read').waitFor();
  await page.getByRole('button', { name: /^switch s1,/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Switch s1' }).getByText('✓ up').first().waitFor();
  const [link] = (await (await fetch(new URL('/api/v1/topology', page.url()))).json()).links;
  const refused = await fetch(new URL(`/api/v1/links/${link.id}/cable`, page.url()), { method: 'PUT', body: '{"cut": true}' });

  assert.equal(refused.status, 403);
  assert.equal(await page.getByRole('button', { name: /^(Cut|Heal|Withdraw)/ }).count(), 0);
});

test('who starts a run on a terminal gets the address of its page, and the prompt back at its end', { skip }, async (t) => {
  const out = folder(t);
  const run = onTerminal(t, 'run', 'scenarios/seamless.toml', '--world', 'lab', '--profile', 'committed', '--duration', '8 s', '--out', out);
  const [url] = (await run.line('page: ')).split(' ');
  const page = await open(t, await browser(t), url, { expects: /404|ERR_/ });

  await sentence(page).filter({ hasText: '1 of 1 guarantees hold' }).waitFor();
  await page.getByText('local: may read').waitFor();
  await run.ended;
  await sentence(page).filter({ hasText: 'If the run is over, `taktos view` with its folder shows what came of it.' }).waitFor();

  assert.match(run.said, /page: `taktos view \S+` replays it in a browser/);
});
