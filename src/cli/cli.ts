import 'reflect-metadata';
import { firstLine } from '../foundation/describe-error.js';
import { runCommandLine } from './run-command-line.js';

const end = (error: unknown): void => {
  process.stderr.write(`${firstLine(error)}\n`);
  process.exit(1);
};
// A background part of the command failed. No stack trace.
process.on('uncaughtException', end);
process.on('unhandledRejection', end);

process.exitCode = await runCommandLine(process.argv.slice(2));
