import {
  exportData,
  testData,
  themePublishFinishedData,
  type ExportFacts,
} from '../../src/webhooks/payloads/presented.js';

const REQUESTED: ExportFacts = {
  id: 'e1',
  name: null,
  requester: 'API',
  status: 'PENDING',
  dateCreated: 1_000,
  dateCompleted: null,
  dateExpires: null,
  mailtoEmail: null,
  format: 'CSV',
  type: 'REFERRAL',
  params: null,
  stats: null,
  fileRef: null,
};

test('an export has all its members, null where there is no value', () => {
  expect(JSON.stringify(exportData(REQUESTED))).toBe(
    '{"id":"e1","name":null,"requester":"API","status":"PENDING","dateCreated":1000,' +
      '"dateCompleted":null,"dateExpires":null,"mailtoEmail":null,"outputFormat":"CSV",' +
      '"task":"REFERRAL","operation":"QUERY","params":null,"stats":null,"fileRef":null}',
  );
});

test('a completed export has its file and what was counted', () => {
  expect(
    exportData({
      ...REQUESTED,
      name: 'March',
      status: 'COMPLETED',
      dateCompleted: 2_000,
      dateExpires: 3_000,
      format: 'XLSX',
      params: { createdSince: '2026-03-01' },
      stats: { rows: 7, bytes: 70 },
      fileRef: 'f1',
    }),
  ).toEqual({
    id: 'e1',
    name: 'March',
    requester: 'API',
    status: 'COMPLETED',
    dateCreated: 1_000,
    dateCompleted: 2_000,
    dateExpires: 3_000,
    mailtoEmail: null,
    outputFormat: 'XLSX',
    task: 'REFERRAL',
    operation: 'QUERY',
    params: { createdSince: '2026-03-01' },
    stats: { rows: 7, bytes: 70 },
    fileRef: 'f1',
  });
});

test('a published theme names its locale, null for the default one', () => {
  expect(themePublishFinishedData('en_CA')).toEqual({ locale: 'en_CA' });
  expect(themePublishFinishedData(null)).toEqual({ locale: null });
});

test('a test names the endpoint, and the subscription where it has a name', () => {
  expect(testData('https://a.example/hook', 'Orders')).toEqual({
    endpointUrl: 'https://a.example/hook',
    name: 'Orders',
  });
  expect(testData('https://a.example/hook', null)).toEqual({
    endpointUrl: 'https://a.example/hook',
  });
});
