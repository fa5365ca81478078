import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

/** What fits into one append: the data of its events, summed, in bytes. */
const MAX_APPEND_SIZE = 1024 * 1024;

/**
 * A call that ends with a status other than OK. The client distinguishes them by the trailer
 * "exception", and by the code where there is none.
 */
function rpcError(
  code: status,
  details: string,
  trailers: Readonly<Record<string, string>> = {},
): ServiceError {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return Object.assign(new Error(details), { code, details, metadata });
}

export const streamDeleted = (stream: string): ServiceError =>
  rpcError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

export const maximumAppendSizeExceeded = (quote = ''): ServiceError =>
  rpcError(status.INVALID_ARGUMENT, `Maximum Append Size of ${MAX_APPEND_SIZE} Exceeded.${quote}`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(MAX_APPEND_SIZE),
  });

export const notLeader = (leader: {
  readonly address: string;
  readonly port: number;
}): ServiceError =>
  rpcError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': leader.address,
    'leader-endpoint-port': String(leader.port),
  });

export const SERVER_NOT_READY = 'Server Is Not Ready';
export const serverNotReady = (quote = ''): ServiceError =>
  rpcError(status.UNAVAILABLE, `${SERVER_NOT_READY}${quote}`);

export const unavailable = (): ServiceError => rpcError(status.UNAVAILABLE, 'Connection dropped');

export const consumerTooSlow = (): ServiceError =>
  rpcError(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  );

export const accessDenied = (): ServiceError =>
  rpcError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });

export const unauthenticated = (): ServiceError =>
  rpcError(status.UNAUTHENTICATED, 'Unauthenticated');

/** The error of an unexpected exception. */
export const unknown = (details = 'Exception was thrown by handler.'): ServiceError =>
  rpcError(status.UNKNOWN, details);
