// Builds the page into crates/taktos/page, compressed, where the program takes it from.
// With `--check`, writes nothing and says whether what is there is what would be built.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const target = fileURLToPath(new URL('../crates/taktos/page/', import.meta.url));

/** Builds one entry, with everything that it needs in one file of a fixed name. */
async function bundle(name, entry) {
  const built = await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [svelte({ configFile: false })],
    build: {
      write: false,
      modulePreload: false,
      cssCodeSplit: false,
      target: 'es2022',
      rolldownOptions: {
        input: root + entry,
        output: { format: 'es', entryFileNames: name, assetFileNames: 'page[extname]' },
      },
    },
  });
  return [built].flat().flatMap((it) => it.output);
}

/** Returns the licences of all packages that are part of what was built. */
async function licences(packages) {
  const texts = [...packages].sort().map(async (name) => {
    const folder = `${root}node_modules/${name}/`;
    const found = (await readdir(folder)).find((it) => /^licen[cs]e/i.test(it));
    if (!found) throw new Error(`${name} has no licence`);
    return `${name}\n\n${(await readFile(folder + found, 'utf8')).trim()}\n`;
  });
  return Buffer.from((await Promise.all(texts)).join('\n\n'));
}

const files = new Map();
const packages = new Set();
for (const [name, entry] of [['page.js', 'src/main.js'], ['link.js', 'src/link.js']]) {
  for (const part of await bundle(name, entry)) {
    for (const path of Object.keys(part.modules ?? {})) {
      const name = path.match(/node_modules\/((@[^/]+\/)?[^/]+)/)?.[1];
      if (name) packages.add(name);
    }
    files.set(part.fileName, Buffer.from(part.type === 'chunk' ? part.code : part.source));
  }
}
for (const name of ['index.html', 'icon.svg']) files.set(name, await readFile(root + name));
files.set('licences.txt', await licences(packages));

let different = 0;
let total = 0;
for (const [name, bytes] of files) {
  const path = `${target}${name}.gz`;
  if (process.argv.includes('--check')) {
    const there = await readFile(path).then(gunzipSync, () => null);
    if (!there?.equals(bytes)) {
      different += 1;
      console.error(`${path} is not what its source says`);
    }
    continue;
  }
  const compressed = gzipSync(bytes, { level: 9 });
  total += compressed.length;
  await writeFile(path, compressed);
  console.log(`${name}: ${bytes.length} bytes, ${compressed.length} compressed`);
}
if (total) console.log(`together ${total} bytes compressed`);
process.exitCode = different ? 1 : 0;
