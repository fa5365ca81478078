import { join } from 'node:path';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.js';

/**
 * A TCP line to the server of a database's address, which listens on a Unix socket, and the
 * database's address behind it.
 */
export async function startPostgresProxy(
  databaseUrl: string,
): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  const url = new URL(databaseUrl);
  const path = join(decodeURIComponent(url.hostname), `.s.PGSQL.${url.port}`);
  const proxy = await startTcpProxy({ path });
  url.host = `127.0.0.1:${proxy.port}`;
  return { proxy, url: url.href };
}
