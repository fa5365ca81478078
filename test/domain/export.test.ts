import {
  CANCELLED,
  decide,
  evolve,
  EXPORT_KEPT_MS,
  EXPORTS_WAITING_MAX,
  initialState,
  type ExportCommand,
  type ExportEvent,
} from '../../src/domain/export/export.decider.js';
import { scenarioOf } from './support/scenario.js';

const FILE = { position: '7', rows: 2, bytes: 30, sha256: 'a'.repeat(64) };
const TEXTS = { name: 'May', requester: 'API', params: { createdSince: 1 } };
const request: ExportCommand = {
  type: 'RequestExport',
  exportId: 'e',
  exportType: 'USER',
  format: 'CSV',
  texts: TEXTS,
  hasRoom: true,
  now: 1_000,
};
const REQUESTED: ExportEvent = {
  type: 'ExportRequested',
  at: 1_000,
  exportId: 'e',
  exportType: 'USER',
  format: 'CSV',
  expiresAt: 1_000 + EXPORT_KEPT_MS,
  texts: { subject: 'e', value: TEXTS },
};
const COMPLETED: ExportEvent = { type: 'ExportCompleted', at: 2_000, exportId: 'e', file: FILE };
const ABORTED: ExportEvent = { type: 'ExportAborted', at: 2_000, exportId: 'e', reason: 'why' };
const EXPIRED: ExportEvent = { type: 'ExportExpired', at: 3_000, exportId: 'e', because: 'AGE' };

const given = scenarioOf({ decide, evolve, initialState });
const complete: ExportCommand = { type: 'CompleteExport', file: FILE, now: 2_000 };
const abort: ExportCommand = { type: 'AbortExport', reason: 'why', now: 2_000 };
const cancel: ExportCommand = { type: 'CancelExport', now: 2_000 };
const expire: ExportCommand = { type: 'ExpireExport', because: 'AGE', now: 3_000 };

test('a request is recorded once', () => {
  given().when(request).then(REQUESTED);
  given(REQUESTED).when(request).then();
});

test('a request without room is refused, a recorded one is not', () => {
  const crowded = { ...request, hasRoom: false };
  given()
    .when(crowded)
    .refused(
      'TOO_MANY_EXPORTS',
      `${EXPORTS_WAITING_MAX} exports of the tenant wait, the most that may: repeat the request when one is complete`,
    );
  given(REQUESTED).when(crowded).then();
});

test('a running export is completed, aborted or cancelled', () => {
  given(REQUESTED).when(complete).then(COMPLETED);
  given(REQUESTED).when(abort).then(ABORTED);
  given(REQUESTED)
    .when(cancel)
    .then({ ...ABORTED, reason: CANCELLED });
  given(REQUESTED).when(expire).then();
});

test('the first outcome is final', () => {
  for (const over of [COMPLETED, ABORTED]) {
    for (const step of [complete, abort]) given(REQUESTED, over).when(step).then();
    given(REQUESTED, over).when(cancel).refused('EXPORT_IS_OVER');
  }
});

test('only a completed one expires, and once', () => {
  given(REQUESTED, COMPLETED).when(expire).then(EXPIRED);
  given(REQUESTED, COMPLETED, EXPIRED).when(expire).then();
  given(REQUESTED, ABORTED).when(expire).then();
});

test('nothing happens to one that was never requested', () => {
  for (const step of [complete, abort, cancel, expire])
    given().when(step).refused('EXPORT_NOT_FOUND');
  expect(given(COMPLETED, ABORTED, EXPIRED).state).toEqual(initialState);
});

test('the state follows the events, without texts once the key is destroyed', () => {
  expect(given(REQUESTED, COMPLETED).state).toEqual({
    status: 'completed',
    exportId: 'e',
    exportType: 'USER',
    format: 'CSV',
    texts: TEXTS,
    requestedAt: 1_000,
    expiresAt: 1_000 + EXPORT_KEPT_MS,
    completedAt: 2_000,
    file: FILE,
    reason: null,
  });
  const nameless = { ...REQUESTED, texts: { subject: 'e', value: null } };
  expect(given(nameless, ABORTED).state).toMatchObject({ texts: null, reason: 'why' });
});
