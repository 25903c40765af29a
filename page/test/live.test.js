// A run with real frames, live: needs the right to make network namespaces.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { accessible, browser, open, picture, sentence } from './browser.js';
import { folder, root, taktos } from './taktos.js';

const skip = process.getuid() === 0 ? false : 'needs root';

test('a cut is seen live, flows are asked for, refused and admitted, and the end of the run is shown', { skip }, async (t) => {
  const out = folder(t);
  // On a busy machine a browser takes its time to be there.
  const substation = readFileSync(join(root, 'scenarios/substation.toml'), 'utf8');
  const scenario = `${out}/substation.toml`;
  writeFileSync(scenario, substation.replace('at = "12 s"', 'at = "25 s"').replace('at = "20 s"', 'at = "55 s"').replace('duration = "30 s"', 'duration = "60 s"'));
  const run = taktos(t, 'run', scenario, '--world', 'lab', '--profile', 'committed', '--out', out, '--page=127.0.0.1:0');
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
