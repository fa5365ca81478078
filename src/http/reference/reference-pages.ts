import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { marked } from 'marked';
import { keptCall } from '../../foundation/single-flight.js';
import type { AccessRule } from '../edge/access.js';
import { describeInterface } from '../shapes/openapi.js';
import { describedInterface } from './described-interface.js';
import { readReference } from './reference-files.js';

/** The page loads nothing from other origins, and the browser enforces it. */
const PAGE_POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageOf = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
${body}
</body>
</html>
`;

const VIEWER = pageOf(
  'Referral ledger: API reference',
  `<div id="reference"></div>
<noscript><p>The viewer needs JavaScript. The document is at <a href="/openapi.json">/openapi.json</a>, the errors are at <a href="/docs/errors">/docs/errors</a>.</p></noscript>
<script src="/docs/viewer.js"></script>
<script src="/docs/start.js"></script>`,
);

const START = `Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  layout: 'modern',
  theme: 'default',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  hiddenClients: true,
  hideModels: true,
  documentDownloadType: 'json',
  defaultOpenAllTags: false,
  operationTitleSource: 'summary',
  metaData: { title: 'Referral ledger: API reference' },
});
`;

const STYLE = `body { margin: 0; font-family: system-ui, sans-serif; line-height: 1.55; }
:root { color-scheme: light dark; --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; }
.errors { max-width: 46rem; margin: 0 auto; padding: 2rem 1.25rem 6rem; overflow-wrap: anywhere; }
.errors h1 { font-size: 1.75rem; }
.errors h2 { margin-top: 3rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
.errors h3 { margin: 2rem 0 0; font-size: 1rem; scroll-margin-top: 1rem; }
.errors h3:target { background: color-mix(in srgb, gold 30%, transparent); }
.errors p { margin: .4rem 0; }
.errors pre { padding: .75rem 1rem; overflow-x: auto; border-radius: 6px; background: color-mix(in srgb, currentColor 8%, transparent); }
.errors code { font-family: ui-monospace, monospace; font-size: .9em; }
.errors a { color: LinkText; }
details > summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
table:has(th:nth-child(4)) { display: block !important; border: 0 !important; font-size: 14px; }
table:has(th:nth-child(4)) thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
table:has(th:nth-child(4)) tbody { display: block !important; }
table:has(th:nth-child(4)) tr { display: block !important; padding: .6rem 0; border-bottom: 1px solid var(--scalar-border-color); }
table:has(th:nth-child(4)) tr:last-child { border-bottom: 0; }
table:has(th:nth-child(4)) td { display: block !important; width: auto !important; border: 0 !important; padding: 0 0 .15rem !important; }
table:has(th:nth-child(4)) td:nth-child(-n+2) { display: inline-block !important; padding-right: .4rem !important; font-weight: 600; }
table:has(th:nth-child(4)) td:nth-child(4)::before { content: 'What to do: '; font-weight: 600; }
`;

/** The page of errors, with an anchor per code. */
function errorsPage(markdown: string): string {
  const html = marked.parse(markdown, { async: false });
  const anchored = html.replace(
    /<h3><code>(\w+)<\/code><\/h3>/g,
    '<h3 id="$1"><code>$1</code></h3>',
  );
  return pageOf(
    'Referral ledger: errors',
    `<main class="errors"><p><a href="/docs">API reference</a></p>\n${anchored}</main>`,
  );
}

export interface ReferenceOptions {
  readonly version: string;
  /** The service's address for clients; undefined: the page's origin. */
  readonly publicUrl?: string | undefined;
}

/** Serves `/openapi.json`, `/docs` and `/docs/errors`. Call it before the initialisation. */
export function serveReference(app: NestFastifyApplication, options: ReferenceOptions): void {
  const server: FastifyInstance = app.getHttpAdapter().getInstance();
  const access: AccessRule = { kind: 'none', emptyBody: true, apiOnlyPrograms: false };
  const serve = (url: string, type: string, content: () => Promise<string | Buffer>) => {
    const cached = keptCall(Infinity, content);
    server.route({
      method: 'GET',
      url,
      config: { access },
      handler: async (_request, reply) =>
        reply
          .type(type)
          // Public content, outdated for minutes after a release.
          .header('Cache-Control', 'public, max-age=300')
          .header('Content-Security-Policy', PAGE_POLICY)
          .send(await cached()),
    });
  };
  const html = 'text/html; charset=utf-8';
  const script = 'text/javascript; charset=utf-8';
  serve('/openapi.json', 'application/json; charset=utf-8', async () => {
    const generated = describeInterface(app, options);
    generated.servers = [{ url: options.publicUrl ?? '/', description: 'This service' }];
    return JSON.stringify(describedInterface(generated, await readReference()).document);
  });
  serve('/docs', html, () => Promise.resolve(VIEWER));
  serve('/docs/errors', html, async () => errorsPage((await readReference()).errorPage));
  serve('/docs/start.js', script, () => Promise.resolve(START));
  serve('/docs/reference.css', 'text/css; charset=utf-8', () => Promise.resolve(STYLE));
  serve('/docs/viewer.js', script, () => readFile(viewerFile()));
}

const viewerFile = (): string =>
  join(
    dirname(createRequire(import.meta.url).resolve('@scalar/fastify-api-reference')),
    'js',
    'standalone.js',
  );
