import { readFile } from 'node:fs/promises';
import { docsFolder } from '../../foundation/docs-folder.js';
import type { WebhookType } from './announced.js';
import type { WebhookData } from './presented.js';

const EXAMPLE = /<!-- example: (\S+) -->\s*```json\n(.*?)```/gs;
/** Members of an export that was just requested. */
const REQUESTED = { status: 'PENDING', dateCompleted: null, dateExpires: null, stats: null };

/** The example of `docs/webhooks-payloads.md` for a type. */
export async function sampleData(type: WebhookType): Promise<WebhookData> {
  const page = await readFile(new URL('webhooks-payloads.md', docsFolder()), 'utf8');
  const examples = new Map([...page.matchAll(EXAMPLE)].map(([, name, json]) => [name, json]));
  const example = examples.get(type === 'export.created' ? 'export.completed' : type);
  if (example === undefined) throw new Error(`there is no example of ${type}`);
  const data = JSON.parse(example) as WebhookData;
  return type === 'export.created' ? { ...data, ...REQUESTED } : data;
}

/** The header that marks samples; a test has none. */
export const sampleHeaders = (type: WebhookType): Readonly<Record<string, string>> =>
  type === 'test' ? {} : { 'webhook-sample': 'true' };
