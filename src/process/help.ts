import { SETTINGS } from '../config/config.js';

/** The settings that a first start may need; the page of the configuration has all. */
const SHOWN = ['PORT', 'HOST', 'DATA_DIR', 'DATABASE_URL', 'EVENT_STORE_URL', 'LOG_FORMAT'];

/** The help of the start, for a terminal of 80 columns. */
export function helpText(): string {
  const shown = SETTINGS.filter(({ name }) => SHOWN.includes(name));
  const lines = shown.map(({ name, default: value }) => `  ${name.padEnd(16)} ${plain(value)}`);
  return `Starts the referral ledger service.

Usage: npm start

The service is configured by environment variables, for example
  PORT=3001 DATA_DIR=/var/lib/ledger npm start

Variable           Default
${lines.join('\n')}

docs/configuration.md describes all ${SETTINGS.length} variables; none is required.
Operators' commands: npm run --silent cli -- --help
`;
}

const plain = (markdown: string): string => markdown.replaceAll('`', '');
