import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { ownFile, packageFile } from '../view/own-files.js';

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

const SOURCES: ReadonlyMap<string, readonly [type: string, read: () => Buffer]> = new Map([
  ['tabler.css', [CSS, () => packageFile('@tabler/core', 'dist/css/tabler.min.css')]],
  ['uplot.css', [CSS, () => packageFile('uplot', 'dist/uPlot.min.css')]],
  ['uplot.js', [SCRIPT, () => packageFile('uplot', 'dist/uPlot.iife.min.js')]],
  ['htmx.js', [SCRIPT, () => packageFile('htmx.org', 'dist/htmx.min.js')]],
  ['console.css', [CSS, () => ownFile('assets/console.css')]],
  ['console.js', [SCRIPT, () => ownFile('assets/console.js')]],
  ['theme.js', [SCRIPT, () => ownFile('assets/theme.js')]],
  ['icons.svg', ['image/svg+xml', () => ownFile('assets/icons.svg')]],
  ['icon.svg', ['image/svg+xml', () => ownFile('assets/icon.svg')]],
]);

/** A file that pages load. */
export interface Asset {
  readonly type: string;
  readonly content: Buffer;
  /** The same, compressed with gzip. */
  readonly compressed: Buffer;
  /** Of the content: part of its address, so that browsers keep it. */
  readonly digest: string;
}

const read = new Map<string, Asset>();

/** Read at the first use. @returns undefined: there is none of that name. */
export function assetNamed(name: string): Asset | undefined {
  const [known, source] = [read.get(name), SOURCES.get(name)];
  if (known !== undefined || source === undefined) return known;
  const [type, contentOf] = source;
  const content = contentOf();
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  const asset = { type, content, compressed: gzipSync(content, { level: 9 }), digest };
  read.set(name, asset);
  return asset;
}

/** The address of a file. @throws {Error} when there is none of that name. */
export function assetPath(name: string): string {
  const asset = assetNamed(name);
  if (asset === undefined) throw new Error(`the console has no file ${name}`);
  return `/console/assets/${name}?v=${asset.digest}`;
}
