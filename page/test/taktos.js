// Starts the program as its users do, and ends it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const program = process.env.TAKTOS ?? join(root, 'target/debug/taktos');
const PATIENCE_MS = 60000;

/** A folder that is removed at the end of a test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), 'taktos-page-'));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Starts `taktos` with these words; ended at the end of a test. */
export function taktos(test, ...words) {
  return started(test, program, words);
}

/** Does the same on a terminal. */
export function onTerminal(test, ...words) {
  return started(test, 'script', ['-qefc', [program, ...words].map((it) => `'${it}'`).join(' '), '/dev/null']);
}

function started(test, command, words) {
  const child = spawn(command, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const waiting = new Set();
  const hear = (data) => {
    said += data;
    for (const look of waiting) look();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = new Promise((done) => child.once('exit', (code) => {
    hear('');
    done(code);
  }));
  const running = {
    ended,
    get said() {
      return said;
    },
    /** Waits until a line has been said that begins so, and returns the rest of it. */
    line(begin) {
      return new Promise((done, fail) => {
        const timer = setTimeout(() => fail(new Error(`no line “${begin}” in:\n${said}`)), PATIENCE_MS);
        const look = () => {
          const found = said.split('\n').slice(0, -1).find((line) => line.includes(begin));
          if (found === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          done(found.slice(found.indexOf(begin) + begin.length).trim());
        };
        waiting.add(look);
        look();
      });
    },
    async end() {
      if (child.exitCode === null) child.kill('SIGTERM');
      return ended;
    },
  };
  test.after(() => running.end());
  return running;
}

/** Runs `taktos` to its end and returns what it said. */
export async function result(test, ...words) {
  const running = taktos(test, ...words);
  return { code: await running.ended, said: running.said };
}
