/** How credentials are to be sent: goes with every 401. */
export const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="referral-ledger", charset="UTF-8"' };
