import type { HttpExample } from './reference-texts.js';

/** A code sample in the form of the extension `x-codeSamples`. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The operation's key: a tenant's, an operator's, or none. */
export type SampleKey = 'API_KEY' | 'OPERATOR_KEY' | undefined;

export const codeSamples = (request: HttpExample, key: SampleKey): readonly CodeSample[] => [
  { lang: 'shell', label: 'curl', source: curlSample(request, key) },
  { lang: 'typescript', label: 'TypeScript', source: typescriptSample(request, key) },
];

function curlSample({ start, headers, body }: HttpExample, key: SampleKey): string {
  const [method = '', path = ''] = start.split(' ');
  const isImplied = method === 'GET' || (method === 'POST' && body !== '');
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl "$LEDGER_URL${path}"`,
    ...(isImplied ? [] : [`-X ${method}`]),
    ...(key === undefined ? [] : [`-u ":$${key}"`]),
    ...[...headers].map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === '' ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(body)}`]),
  ].join(' \\\n  ');
}

function typescriptSample({ start, headers, body }: HttpExample, key: SampleKey): string {
  const [method = '', path = ''] = start.split(' ');
  const fields = [
    ...(key === undefined ? [] : [`Authorization: \`Basic \${btoa(\`:\${${key}}\`)}\``]),
    ...[...headers].map(([name, value]) => `'${name}': '${value}'`),
    ...(body === '' ? [] : [`'Content-Type': 'application/json'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(fields.length === 0
      ? []
      : ['  headers: {', ...fields.map((field) => `    ${field},`), '  },']),
    ...(body === '' ? [] : [`  body: JSON.stringify(${body.replaceAll('\n', '\n  ')}),`]),
  ];
  const names = ['LEDGER_URL', ...(key === undefined ? [] : [key])];
  const call =
    options.length === 0
      ? `await fetch(\`\${LEDGER_URL}${path}\`);`
      : [`await fetch(\`\${LEDGER_URL}${path}\`, {`, ...options, '});'].join('\n');
  return [
    `const { ${names.join(', ')} } = process.env;`,
    '',
    `const response = ${call}`,
    'if (!response.ok) throw new Error(await response.text());',
  ].join('\n');
}
