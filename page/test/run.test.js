// A run that is over: what the page says of it, on a desk and on a phone, light and dark.

import assert from 'node:assert/strict';
import test from 'node:test';
import { accessible, browser, open, PHONE, picture, sentence } from './browser.js';
import { folder, result, taktos } from './taktos.js';

/** Runs a scenario in virtual time, the substation until after its cut, and shows it. */
async function shown(t, scenario = 'substation', seconds = 14) {
  const out = folder(t);
  const run = await result(t, 'run', `scenarios/${scenario}.toml`, '--world', 'sim', '--duration', `${seconds} s`, '--out', out);
  assert.equal(run.code, 0, run.said);
  const view = taktos(t, 'view', out, '--http', '127.0.0.1:0');
  return view.line('page: ');
}

test('a run says in a sentence, a list, a map and a curve whether every promise held', async (t) => {
  const url = await shown(t);
  const page = await open(t, await browser(t), url);

  await sentence(page).filter({ hasText: '11 of 11 guarantees held. Smallest margin' }).waitFor();
  const rows = page.getByRole('option');
  assert.match(await rows.first().textContent(), /^trip-b2: holds; from relay2 to busbar; observed .* µs, bound .* µs, deadline 600 µs/);
  assert.equal(await page.getByRole('button', { name: /^switch s\d/ }).count(), 4);
  assert.equal(await page.getByRole('button', { name: /^host / }).count(), 11);
  await page.getByText('link s2-s4 cut; 3 flows moved').waitFor();
  await accessible(page);
  await picture(page, 'page-run');
});

test('a run in virtual time is watched as one of real things, touched by hand, and judged', async (t) => {
  const run = taktos(t, 'run', 'scenarios/seamless.toml', '--world', 'sim', '--duration', '25 s', '--out', folder(t), '--page=127.0.0.1:0', '--page-role', 'administer');
  const page = await open(t, await browser(t), await run.line('page: '), { expects: /404|ERR_/ });
  await sentence(page).filter({ hasText: '1 of 1 guarantees hold' }).waitFor();
  await page.getByRole('button', { name: /^switch s1,/ }).focus();
  await page.keyboard.press('Enter');
  const row = page.getByRole('complementary', { name: 'Switch s1' }).getByRole('row').filter({ hasText: 's3' });

  await row.getByRole('button', { name: 'Cut' }).click();
  await page.getByRole('button', { name: 'Yes, do it' }).click();

  await page.locator('text.cut').first().waitFor();
  await page.waitForURL(/\?run/, { timeout: 120000 });
  await sentence(page).filter({ hasText: '1 of 1 guarantees held' }).waitFor();
  await sentence(page).filter({ hasText: 'Touched by hand: change-cable s1-s3 cut' }).waitFor();
});

test('switches stand where their topology file says', async (t) => {
  const url = await shown(t, 'abilene', 3);
  const page = await open(t, await browser(t), url);
  await sentence(page).filter({ hasText: 'guarantees held' }).waitFor();

  const at = async (name) => (await page.getByRole('button', { name: new RegExp(`^switch ${name},`) }).boundingBox());
  const [seattle, losAngeles, newYork, houston] = await Promise.all(['STTLng', 'LOSAng', 'NYCMng', 'HSTNng'].map(at));

  assert.ok(seattle.y < newYork.y && newYork.y < losAngeles.y && losAngeles.y < houston.y);
  assert.ok(seattle.x < losAngeles.x && losAngeles.x < houston.x && houston.x < newYork.x);
  await picture(page, 'page-map');
});

test('a flow shows its way, how its bound is calculated, and what that rests on', async (t) => {
  const url = await shown(t);
  const page = await open(t, await browser(t), url, { dark: true });

  await page.getByRole('option', { name: /^trip-b2/ }).click();

  const panel = page.getByRole('complementary', { name: 'Flow trip-b2' });
  await panel.getByText('budget of the switch (14.36 us + 2.26 us a frame)').first().waitFor();
  await panel.getByText('Evidence').click();
  await panel.getByText('Seed 1').waitFor();
  assert.ok((await page.locator('line.lane.lit').count()) >= 3);
  assert.ok((await page.locator('line.lane.backup').count()) >= 2);
  assert.match(page.url(), /#flow=trip-b2$/);
  await accessible(page);
  await picture(page, 'page-flow-dark');
});

test('an address leads to a flow at a moment, and a replay shows the cut when it happens', async (t) => {
  const url = await shown(t);
  const page = await open(t, await browser(t), `${url}?run#flow=sv-mu2&at=11.5`);

  await page.getByRole('complementary', { name: 'Flow sv-mu2' }).waitFor();
  await page.getByText('Nothing has happened to the network.').waitFor();
  assert.equal(await page.locator('text.cut').count(), 0);
  await page.getByRole('button', { name: 'Replay' }).click();

  await page.locator('text.cut').waitFor();
  await page.getByText('link s2-s4 cut').waitFor();
  assert.ok(Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('at')) >= 12);
});

test('everything can be reached by keyboard', async (t) => {
  const url = await shown(t);
  const page = await open(t, await browser(t), url);

  await page.getByRole('listbox').focus();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('complementary', { name: 'Flow trip-b2' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('svg [tabindex="0"]').focus();
  const first = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp']) await page.keyboard.press(key);
  assert.match(first, /^switch s1, connected, 2 links, 3 hosts$/);
  assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^(switch|host) /);
  await page.keyboard.press('Enter');

  await page.getByRole('complementary', { name: /^(Switch|Host) / }).waitFor();
});

test('a phone shows the same to read', async (t) => {
  const url = await shown(t);
  const page = await open(t, await browser(t), url, { viewport: PHONE });

  await sentence(page).filter({ hasText: '11 of 11 guarantees held' }).waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= PHONE.width, `${width} px wide`);
  await page.getByRole('option', { name: /^trip-b1/ }).click();
  await page.getByRole('complementary', { name: 'Flow trip-b1' }).waitFor();
  await accessible(page);
  await picture(page, 'page-phone');
});

test('what is no report is refused with the place', async (t) => {
  const { writeFileSync } = await import('node:fs');
  const out = folder(t);
  writeFileSync(`${out}/report.json`, '{"verdict": "held"}');

  const { code, said } = await result(t, 'view', out, '--http', '127.0.0.1:0');

  assert.notEqual(code, 0);
  assert.match(said, /report\.json: missing field `topology`/);
});
