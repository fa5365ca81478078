import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { quoted } from '../identifiers.js';
import type { ReadModelTable, Row } from '../projector.js';

const CHUNK_CHARACTERS = 128 * 1024;

/** A text that Postgres cannot store: it contains half a surrogate pair. */
export class UnstorableText extends Error {
  override readonly name = 'UnstorableText';
}

/**
 * Writes rows into a table of these columns with COPY, the fastest way.
 * @param place the table's SQL name.
 * @throws Postgres' data errors (`isDataError`), {UnstorableText}
 */
export async function copyRows(
  client: PoolClient,
  place: string,
  table: ReadModelTable,
  rows: Iterable<Row>,
): Promise<void> {
  const names = Object.keys(table.columns).map(quoted).join(', ');
  const stream = client.query(copyFrom(`copy ${place} (${names}) from stdin`));
  await pipeline(Readable.from(chunks(table, rows), { objectMode: false }), stream);
}

function* chunks(table: ReadModelTable, rows: Iterable<Row>): Generator<Buffer> {
  const columns = Object.entries(table.columns).map(([name, type], place) => ({
    name,
    isJson: /^jsonb?\b/i.test(type),
    separator: place === 0 ? '' : '\t',
  }));
  let text = '';
  for (const row of rows) {
    for (const { name, isJson, separator } of columns) text += separator + field(row[name], isJson);
    text += '\n';
    if (text.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

/** A value in the text format of COPY. */
function field(value: unknown, isJson: boolean): string {
  if (value === null || value === undefined) return '\\N';
  if (isJson) return escaped(JSON.stringify(value));
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return typeof value === 'number' ? String(value) : escaped(JSON.stringify(value));
}

/** The usual text: no escaping, no further check. */
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*$/;
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
};

function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  // As bytes it would become another text; batches, which write JSON, are refused for it.
  if (/\p{Surrogate}/u.test(text)) throw new UnstorableText('a text holds half a character');
  return text.replace(/[\\\t\n\r]/g, (found) => ESCAPES[found] ?? found);
}
