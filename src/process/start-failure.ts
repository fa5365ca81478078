import { ConfigError, type Config } from '../config/config.js';
import { firstLine } from '../foundation/describe-error.js';
import { errorCode } from '../foundation/error-code.js';

type Addresses = Pick<Config, 'host' | 'operationsPort'>;

/** Why the service did not start, and what to do, without secrets. @param config if it is valid. */
export function startFailure(error: unknown, config: Addresses | undefined): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  return [(config && listenFailure(error, config)) ?? firstLine(error)];
}

/** Undefined: the failure has another cause. */
function listenFailure(error: unknown, { host, operationsPort }: Addresses): string | undefined {
  const code = errorCode(error);
  const { syscall, port, hostname } = error as NodeJS.ErrnoException & Partial<Listened>;
  if (syscall === 'getaddrinfo' && hostname === host)
    return `HOST ${host} is not known: choose an address of this machine, for example HOST=127.0.0.1 npm start`;
  if (syscall !== 'listen' || port === undefined) return undefined;
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const setting = port === operationsPort ? 'OPERATIONS_PORT' : 'PORT';
  if (code === 'EADDRINUSE')
    return `${place} is in use by another process: stop that process, or choose another port, for example ${setting}=${port < 65_535 ? port + 1 : 3000} npm start`;
  if (code === 'EACCES')
    return `No permission to listen on ${place}: choose a port above 1023, for example ${setting}=3000 npm start`;
  if (code === 'EADDRNOTAVAIL')
    return `HOST ${host} is not an address of this machine: choose one, for example HOST=127.0.0.1 npm start`;
  return `Cannot listen on ${place} (${code ?? 'unknown error'}): check HOST and ${setting}`;
}

/** The address in an error of Node. */
interface Listened {
  readonly port: number;
  readonly hostname: string;
}
