// Debian's Chromium, and what tests ask of a page.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { root } from './taktos.js';

export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Opens a browser for a test. */
export async function browser(test) {
  const opened = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // Tests may be root, for whom Chromium has no sandbox; they load pages of this machine alone.
    args: ['--no-sandbox', '--disable-gpu'],
  });
  test.after(() => opened.close());
  return opened;
}

/** Opens a page. What it complains of fails the test, as does whatever it would load from elsewhere. */
export async function open(test, opened, url, { viewport = DESK, dark = false, context, expects = /$^/ } = {}) {
  context ??= await opened.newContext({ viewport, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (it) => it.type() === 'error' && !expects.test(it.text()) && complaints.push(it.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (it) => !it.url().startsWith(new URL(url).origin) && complaints.push(`loads ${it.url()}`));
  test.after(() => assert.deepEqual(complaints, []));
  await page.goto(url);
  return page;
}

/** Checks that axe finds nothing serious. */
export async function accessible(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter((it) => ['serious', 'critical'].includes(it.impact));
  assert.deepEqual(serious.map((it) => `${it.id}: ${it.nodes[0].html.slice(0, 200)} ${it.nodes[0].failureSummary}`), []);
}

/** Keeps a picture for the documentation, where pictures are wanted. */
export async function picture(page, name) {
  if (!process.env.PICTURES) return;
  const folder = `${root}docs/images`;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

export const sentence = (page) => page.getByRole('heading', { level: 1 });
