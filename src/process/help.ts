import { VARIABLES } from '../config/config.js';

/** The settings of a first start; docs/configuration.md has all. */
const SHOWN = `
  DATA_DIR         .data
  HOST             127.0.0.1
  PORT             3000
  DATABASE_URL     embedded Postgres
  EVENT_STORE_URL  the log in Postgres
  LOG_FORMAT       pretty on a terminal, else json`;

/** The help text, for a terminal of 80 columns. */
export const helpText = (): string => `Starts the referral ledger service.

Usage: npm start

The service is configured by environment variables, for example
  PORT=3001 DATA_DIR=/var/lib/ledger npm start

Variable           Default${SHOWN}

docs/configuration.md describes all ${VARIABLES.length} variables; none is required.
Operators' commands: npm run --silent cli -- --help
`;
