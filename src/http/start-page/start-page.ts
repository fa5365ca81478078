import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Listener } from '../edge/http-edge.js';

export interface StartPageOptions {
  readonly version: string;
  /** PUBLIC_URL without a trailing slash; undefined: links use the request's origin. */
  readonly publicUrl: string | undefined;
  readonly listenerOf: (request: IncomingMessage) => Listener;
}

const NAME = 'referral-ledger';

/** Serves `GET /` as a page or as JSON, with links. Call it before the initialisation. */
export function serveStartPage(app: NestFastifyApplication, options: StartPageOptions): void {
  const server: FastifyInstance = app.getHttpAdapter().getInstance();
  server.route({
    method: 'GET',
    url: '/',
    config: { access: { kind: 'none', emptyBody: true, apiOnlyPrograms: false } },
    handler: async (request, reply) => {
      const listener = options.listenerOf(request.raw);
      const forOperators = listener !== 'public';
      void reply.header('Vary', 'Accept');
      const preferred = new Negotiator(request.raw).mediaType(['text/html', 'application/json']);
      if (preferred === 'application/json')
        return reply.type('application/json; charset=utf-8').send({
          name: NAME,
          version: options.version,
          ...addresses(baseOf(request, listener, options), forOperators),
        });
      return reply
        .type('text/html; charset=utf-8')
        .header('Content-Security-Policy', POLICY)
        .send(pageOf(options.version, forOperators));
    },
  });
}

/** The operations listener is not at the public address. */
function baseOf(
  { protocol, host }: FastifyRequest,
  listener: Listener,
  { publicUrl }: StartPageOptions,
): string {
  const own = `${protocol}://${host}`;
  return listener === 'operations' ? own : (publicUrl ?? own);
}

const addresses = (base: string, forOperators: boolean): Readonly<Record<string, string>> => ({
  docs: `${base}/docs`,
  ...(forOperators && { console: `${base}/console`, health: `${base}/health/ready` }),
});

const LINKS = [
  ['/docs', 'API reference', 'Every request with examples, errors and the OpenAPI document.'],
  ['/console', 'Console', 'For finance and support: people, balances, statements, corrections.'],
  ['/health/ready', 'Health', 'Whether this process serves requests, and the state of each part.'],
] as const;

const STYLE = `
:root { color-scheme: light dark; --ink: #1b2130; --quiet: #5a6478; --line: #dde1e9; --paper: #fff; --link: #2447c0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --quiet: #a4adbf; --line: #333b4b; --paper: #141923; --link: #9db4ff } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 36rem; margin: 12vh auto; padding: 0 1.5rem }
h1 { margin: 0; font-size: 1.75rem }
p { margin: .25rem 0 0; color: var(--quiet) }
ul { margin: 2rem 0; padding: 0; list-style: none; border-top: 1px solid var(--line) }
li { padding: 1rem 0; border-bottom: 1px solid var(--line) }
a { color: var(--link); font-weight: 600 }
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function pageOf(version: string, forOperators: boolean): string {
  const links = LINKS.filter(([path]) => forOperators || path === '/docs');
  const items = links.map(
    ([path, title, text]) => `<li><a href="${path}">${title}</a><p>${text}</p></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Referral ledger</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Referral ledger</h1>
<p>Version ${version}. This service records referrals and their rewards.</p>
<ul>
${items.join('\n')}
</ul>
</main>
</body>
</html>
`;
}
