import type { ShownExport } from '../../src/exports/shown-export.js';
import {
  exportData,
  testData,
  themePublishFinishedData,
} from '../../src/webhooks/payloads/presented.js';

const REQUESTED: ShownExport = {
  id: 'e1',
  name: null,
  requester: 'API',
  status: 'PENDING',
  dateCreated: 1_000,
  dateCompleted: null,
  dateExpires: 2_000,
  format: 'CSV',
  type: 'REFERRAL',
  params: {},
  stats: null,
};

test('an export has all its members, null where there is no value', () => {
  expect(JSON.stringify(exportData(REQUESTED))).toBe(
    '{"id":"e1","name":null,"requester":"API","status":"PENDING","dateCreated":1000,' +
      '"dateCompleted":null,"dateExpires":2000,"mailtoEmail":null,"outputFormat":"CSV",' +
      '"task":"REFERRAL","operation":"QUERY","params":{},"stats":null,"fileRef":null}',
  );
});

test('a theme of the default locale names none, and a subscription without a name either', () => {
  expect(themePublishFinishedData(null)).toEqual({ locale: null });
  expect(testData('https://a.example/hook', null)).toEqual({
    endpointUrl: 'https://a.example/hook',
  });
});
