// A controller without switches, as programs and people see it: tokens, restarts, tabs.

import assert from 'node:assert/strict';
import test from 'node:test';
import { accessible, browser, open, sentence } from './browser.js';
import { folder, result, taktos } from './taktos.js';

const HTTP = '127.0.0.1:18199';

function controller(t, ...more) {
  return taktos(t, 'controller', '--openflow', '127.0.0.1:0', '--http', HTTP, ...more);
}

test('a controller without switches says what to do', async (t) => {
  const url = await controller(t).line('page: ');
  const page = await open(t, await browser(t), url);

  await sentence(page).filter({ hasText: 'Nothing is promised yet.' }).waitFor();
  await page.getByText('taktos run scenarios/substation.toml --page').waitFor();
  await accessible(page);
});

test('all tabs share one connection', async (t) => {
  const url = await controller(t).line('page: ');
  const opened = await browser(t);
  const context = await opened.newContext();
  for (let tab = 0; tab < 8; tab += 1) {
    const page = await open(t, opened, url, { context });
    await sentence(page).filter({ hasText: 'Nothing is promised yet.' }).waitFor();
  }

  const metrics = await (await fetch(`${url}metrics`)).text();

  assert.match(metrics, /taktos_http_requests_total\{operation="watch-events",status="2xx"\} 1\n/);
});

test('a page says that the controller is gone, and catches up when it is back', async (t) => {
  const data = folder(t);
  const first = controller(t, '--data', data);
  const url = await first.line('page: ');
  const page = await open(t, await browser(t), url, { expects: /ERR_/ });
  await sentence(page).filter({ hasText: 'Nothing is promised yet.' }).waitFor();

  await first.end();
  await sentence(page).filter({ hasText: 'has not been heard since' }).waitFor();
  await controller(t, '--data', data, '--network', 'scenarios/substation.toml').line('page: ');

  await sentence(page).filter({ hasText: /^\s*Nothing is promised yet\. .* 11 hosts/ }).waitFor();
});

test('a viewer sees everything and may change nothing, and a token is never in an address', async (t) => {
  const folderOfTokens = folder(t);
  const tokens = `${folderOfTokens}/tokens`;
  const made = await result(t, 'controller', 'token', 'viewer', 'read', '--tokens', tokens);
  const token = made.said.split('\n').find((line) => /^\S{20,}$/.test(line));
  const url = await controller(t, '--tokens', tokens, '--network', 'scenarios/substation.toml').line('page: ');
  const page = await open(t, await browser(t), url, { expects: /401/ });
  const asked = [];
  page.on('request', (it) => asked.push(it.url()));

  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Show the page' }).click();
  await page.getByText('this token is not known').waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Show the page' }).click();

  await page.getByText('viewer: may read').waitFor();
  await page.getByRole('button', { name: 'May I add a flow?' }).click();
  await page.getByText('asking takes the role operate').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Ask', exact: true }).isDisabled());
  assert.equal(await page.getByRole('button', { name: /Withdraw|Forget/ }).count(), 0);
  assert.ok(asked.every((it) => !it.includes(token)) && !page.url().includes(token));
  await accessible(page);
});
