/** What people read in the console apart from templates. */
export const TEXTS = {
  /** What was done, on the page that follows its form. */
  done: {
    denied: 'The referrals are denied.',
    approvedReferrals: 'The referrals are approved.',
    undone:
      'The decision is reversed: denied sides are approved with their rewards, and approved sides are denied.',
    blocked: 'The user is blocked.',
    unblocked: 'The user is active again.',
    rewardCancelled: 'The reward is cancelled.',
    granted: 'The reward is granted.',
    grantProposed:
      'The grant is above your limit for this account: it waits for the approval of finance on Corrections.',
    edited: 'The user is saved.',
    forgotten: 'The user is forgotten: name, address and codes are destroyed.',
    proposed: 'The correction is proposed. Another operator approves it.',
    approved: 'The correction is approved and booked.',
    rejected: 'The correction is rejected. Nothing is booked.',
    withdrawn: 'The correction is withdrawn. Nothing is booked.',
    closed: 'The month is closed.',
    reopened: 'The month is open again.',
    saved: 'The settings are saved.',
    suspended: 'The tenant is suspended: its requests are refused until you resume it.',
    resumed: 'The tenant is active again.',
    clockMoved: 'The test clock is moved.',
    testDataRemoved: 'The data of test mode are removed, and it has the real time again.',
    applied: 'The program is published.',
    published: 'The theme is published.',
    skipped: 'The event is skipped, and the others after it are applied.',
    removed: 'The endpoint is removed.',
    mailResent: 'The mail is sent again.',
    testMailSent: 'The mail server took the test.',
    connected: 'Stripe is connected.',
    disconnected: 'Stripe is disconnected, and its secrets are destroyed.',
    pushRetried: 'The reward is paid again now. It leaves the list when Stripe takes it.',
    exportStarted: 'The export is started.',
    exportCancelled: 'The export is cancelled.',
    importCancelled: 'The import stops. Rows that are in stay.',
    enabled: 'The endpoint is enabled. Deliveries to it begin again.',
    typesSaved: 'The event types of the endpoint are saved.',
    resent: (count: number) =>
      count === 1
        ? 'Resending 1 delivery.'
        : `Resending ${count.toLocaleString('en-US')} deliveries.`,
  },
} as const;
