// Builds the page into crates/taktos/page, compressed, where the program takes it from.
// With `--check`, writes nothing and says whether what is there is what would be built.

import { readFile, writeFile } from 'node:fs/promises';
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

const files = new Map();
for (const [name, entry] of [['page.js', 'src/main.js'], ['link.js', 'src/link.js']]) {
  for (const part of await bundle(name, entry)) {
    files.set(part.fileName, Buffer.from(part.type === 'chunk' ? part.code : part.source));
  }
}
for (const name of ['index.html', 'icon.svg']) files.set(name, await readFile(root + name));

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
