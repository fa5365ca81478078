import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { errorCode } from '../../foundation/error-code.js';
import type { EventStoreAddress } from '../../config/event-store-url.js';
import { HOST_UNKNOWN, NOT_TRUSTED, WITHOUT_TLS } from './eventstoredb-failures.js';

type Host = EventStoreAddress['hosts'][number];

/** A node's answer to the first message of TLS. */
type Handshake = 'trusted' | 'untrusted' | 'no TLS' | 'host unknown' | 'no answer';

/**
 * Why no client reaches these nodes: gRPC reports a connection without TLS to a node with TLS, and
 * every failed discovery, as an unavailable node. Undefined: the nodes are unavailable.
 */
export async function connectionProblem(
  address: EventStoreAddress,
  withinMs: number,
): Promise<string | undefined> {
  const { hosts, tls, tlsCAFile } = address;
  const ca = tlsCAFile === undefined ? {} : { ca: readFileSync(tlsCAFile) };
  const met = await Promise.all(
    hosts.map(async (host) => ({ host, answer: await shakeHands(host, ca, withinMs) })),
  );
  if (met.every(({ answer }) => answer === 'host unknown')) return HOST_UNKNOWN;
  const withTls = met.find(({ answer }) => answer === 'trusted' || answer === 'untrusted');
  if (!tls)
    return (
      withTls &&
      `EventStoreDB at ${nameOf(withTls.host)} speaks TLS: remove tls=false from EVENT_STORE_URL`
    );
  if (met.some(({ answer }) => answer === 'no TLS')) return WITHOUT_TLS;
  return withTls?.answer === 'untrusted' ? NOT_TRUSTED : undefined;
}

const nameOf = ({ address, port }: Host): string => `${address}:${port}`;

function shakeHands(
  { address, port }: Host,
  ca: { readonly ca?: Buffer },
  withinMs: number,
): Promise<Handshake> {
  const host = address.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      ...ca,
      // Only the answer counts, trusted or not. Nothing is sent over the connection.
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    const end = (answer: Handshake): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(withinMs, () => end('no answer'));
    socket.once('secureConnect', () => end(socket.authorized ? 'trusted' : 'untrusted'));
    socket.on('error', (error) => {
      const code = errorCode(error) ?? '';
      if (code === 'ENOTFOUND') end('host unknown');
      else end(/^EPROTO$|^ERR_SSL_/.test(code) ? 'no TLS' : 'no answer');
    });
    socket.once('close', () => end('no answer'));
  });
}
