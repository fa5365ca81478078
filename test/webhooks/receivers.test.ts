import { newEndpointSecret } from '../../src/webhooks/signing/signed-webhook.js';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import ts from 'typescript';
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { WebhookPost } from '../../src/webhooks/sending/webhook-post.js';
import {
  signatureHeaders,
  type SignatureInput,
} from '../../src/webhooks/signing/signature-headers.js';
import type { SigningKey } from '../../src/webhooks/signing/signing-keys.js';
import {
  startWebhookReceiver,
  type Behaviour,
  type WebhookReceiver,
} from '../support/webhook-receiver.js';

/** The code of docs/how-to/receive-webhooks.md, given webhooks as they arrive. */

const root = join(__dirname, '../..');
const page = readFileSync(join(root, 'docs/how-to/receive-webhooks.md'), 'utf8');

/** The block that is saved to a file. */
function codeOf(file: string): string {
  const [, code = ''] = new RegExp(`\`\`\`\\w+\n(\\S+ ${file}\n[^]*?)\`\`\``).exec(page) ?? [];
  return code;
}

interface Received {
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly body: string;
}

interface KeyOfReceiver extends SigningKey {
  readonly jwk: JWK;
}

async function newKey(): Promise<KeyOfReceiver> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return { kid, privateKey, jwk: { ...jwk, kid, use: 'sig', alg: 'RS256' } };
}

const keySet = (...of: readonly KeyOfReceiver[]): Behaviour => ({
  kind: 'answer',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ keys: of.map(({ jwk }) => jwk) }),
});

const secret = newEndpointSecret();
const envelope = {
  id: 'e-1',
  type: 'test',
  tenantAlias: 'acme',
  live: true,
  created: 1,
  data: { endpointUrl: 'http://127.0.0.1/', name: 'Grüße 👋' },
};

let receiver: WebhookReceiver;
let sender: WebhookPost;
/** A webhook that was sent with these secrets, and signed with the first key by default. */
let send: (secrets: readonly string[], other?: Partial<SignatureInput>) => Promise<Received>;
/** That of the key set, and the one that is added to it when it is fetched again. */
let keys: readonly KeyOfReceiver[];

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  sender = new WebhookPost(
    new EndpointGuard({ allowed: [{ address: '127.0.0.1', prefix: 32, family: 'ipv4' }] }),
  );
  keys = [await newKey(), await newKey()];
  send = async (secrets, other = {}) => {
    const [key] = keys;
    if (key === undefined) throw new Error('there is no key');
    const body = Buffer.from(JSON.stringify(envelope));
    const headers = await signatureHeaders({
      id: envelope.id,
      timestamp: Math.floor(Date.now() / 1_000),
      body,
      tenantAlias: 'acme',
      endpointUrl: receiver.url('/hook'),
      secrets,
      key,
      ...other,
    });
    const count = receiver.receivedAt('/hook').length;
    await sender.post({ url: receiver.url('/hook'), headers, body });
    const all = await receiver.requests('/hook', count + 1);
    const request = all.at(-1);
    return { headers: request?.headers ?? {}, body: request?.body.toString('base64') ?? '' };
  };
});

afterAll(async () => {
  await sender.close();
  await receiver.stop();
});

/** Runs a program that prints `verified` or `refused` for each of the webhooks. */
async function verdicts(
  [command = '', ...words]: readonly string[],
  webhooks: readonly Received[],
): Promise<readonly string[]> {
  const env = {
    ...process.env,
    WEBHOOK_SECRET: secret,
    WEBHOOK_TENANT: 'acme',
    WEBHOOK_URL: receiver.url('/hook'),
    WEBHOOK_KEYS_URL: receiver.url('/keys'),
    WEBHOOKS: JSON.stringify(webhooks),
  };
  const child = spawn(command, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  for await (const piece of child.stdout) printed += String(piece);
  return printed.trim().split('\n');
}

const PROGRAMS: Readonly<Record<string, (code: string) => readonly string[]>> = {
  'verify.ts': (code) => [
    process.execPath,
    '--input-type=module',
    '-e',
    `${ts.transpile(code, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 })}
     for (const { headers, body } of JSON.parse(process.env.WEBHOOKS))
       console.log(await verified(headers, Buffer.from(body, 'base64')).then(
         ({ data }) => 'verified ' + data.name, () => 'refused'));`,
  ],
  'verify.py': (code) => [
    'python3',
    '-c',
    `${code}
for webhook in json.loads(os.environ["WEBHOOKS"]):
    try:
        print("verified " + verified(webhook["headers"], base64.b64decode(webhook["body"]))["data"]["name"])
    except Exception:
        print("refused")
`,
  ],
};

/** Good ones, and those that a receiver must refuse. */
async function webhooks(): Promise<readonly (readonly [webhook: Received, isGood: boolean])[]> {
  const good = await send([secret]);
  const rotating = await send([newEndpointSecret(), secret]);
  const newlyKeyed = await send([secret], keys[1] && { key: keys[1] });
  const unknownKey = await send([secret], { key: await newKey() });
  const otherTenant = await send([secret], { tenantAlias: 'other' });
  const otherEndpoint = await send([secret], { endpointUrl: receiver.url('/other') });
  const old = await send([secret], { timestamp: Math.floor(Date.now() / 1_000) - 400 });
  const foreign = await send([newEndpointSecret()]);
  const other = Buffer.from(JSON.stringify({ ...envelope, live: false })).toString('base64');
  const changed = (name: string, value: string): Received => ({
    ...good,
    headers: { ...good.headers, [name]: value },
  });
  const jwsOf = ({ headers }: Received): Received =>
    changed('x-hook-jws-rfc-7797', headers['x-hook-jws-rfc-7797'] ?? '');
  const jws = good.headers['x-hook-jws-rfc-7797'] ?? '';
  const signature = jws.split('..')[1] ?? '';
  const otherHeader = Buffer.from('{"alg":"RS256","kid":"unknown"}').toString('base64url');
  return [
    [good, true],
    [rotating, true],
    [newlyKeyed, true],
    [good, true],
    [unknownKey, false],
    [foreign, false],
    [jwsOf(otherTenant), false],
    [jwsOf(otherEndpoint), false],
    [jwsOf(old), false],
    [{ ...good, body: other }, false],
    [changed('webhook-id', 'e-2'), false],
    [changed('webhook-timestamp', '1000000000'), false],
    [changed('webhook-signature', 'v1,'), false],
    [changed('x-hook-jws-rfc-7797', `${jws.split('..')[0] ?? ''}..`), false],
    [changed('x-hook-jws-rfc-7797', `${otherHeader}..${signature}`), false],
    [
      changed(
        'x-hook-jws-rfc-7797',
        jws.replace(
          signature,
          signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')),
        ),
      ),
      false,
    ],
  ];
}

test.each(['verify.ts', 'verify.py'])(
  '%s takes good webhooks and refuses all others',
  async (file) => {
    const program = PROGRAMS[file]?.(codeOf(file)) ?? [];
    receiver.behave('/keys', keySet(...keys.slice(0, 1)), keySet(...keys));
    const all = await webhooks();
    const printed = await verdicts(
      program,
      all.map(([webhook]) => webhook),
    );
    expect(printed).toEqual(
      all.map(([, isGood]) => (isGood ? `verified ${envelope.data.name}` : 'refused')),
    );
  },
);
