/** Values that have broken protocol readers before. */

const long = 'x'.repeat(5_000)

export const texts = [
  '\ufeff',
  '\u0000',
  '\\u0000',
  '\\ud800',
  '\u202e',
  '𝕏',
  '\u2028',
  '"',
  '\\',
  '\n',
  ',',
  '}',
  '//',
]

export const numbers = ['1e999', '-0', '9007199254740993', '1E400', '00', '0x1', '-', '1.', 'NaN', '1'.repeat(400)]

export const values: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  2 ** 53,
  2 ** 31,
  '',
  'x',
  long,
  '\u0000',
  '\ud800',
  '𝕏\u202e\u0301',
  '../../etc/passwd',
  '1',
  '-1',
  'TASK_STATE_UNSPECIFIED',
  'ROLE_AGENT',
  '2026-02-30T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  'WyJ4Il0=',
  [],
  {},
  [[]],
  [null],
  Array(2_000).fill(0),
  { text: 'x', data: null },
  { length: 1e9 },
  { toString: 1, valueOf: null, toJSON: 'x' },
]

export const keys = [
  '__proto__',
  'constructor',
  'toString',
  'then',
  'kind',
  'text',
  'message_id',
  'messageId',
  'task_id',
  'id',
  '',
  long,
]

export const ids = ['m', 'm-1', 'm-2', '𝕏', 'x'.repeat(256), 'a b']

export const methods = [
  '',
  'sendMessage',
  'SendMesage',
  'message/send',
  'tasks/get',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'SendMessage\u0000',
  long,
  '𝕊endMessage',
]

export const verbs = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']

export const paths = [
  '//',
  '/healthz',
  '/.well-known/agent-card.json',
  '/.well-known/agent-card.json/',
  '/%00',
  '/a/../',
]

export const queries = [
  'A2A-Version=1.0',
  'A2A-Version=0.3',
  'A2A-Version=%',
  'A2A-Version=1.0&A2A-Version=9',
  'lastEventId=1',
  'lastEventId=%00',
  'lastEventId=-1',
  '%',
  '&&&=',
  `a=${long}`,
]

/** `undefined` removes the header. */
export const headers: readonly (readonly [string, readonly (string | undefined)[]])[] = [
  ['a2a-version', [undefined, '', '1', '1.0.1', '0.3', '9.9', '1.0, 1.0', 'one', '-1', '1e0', '99999.0', long]],
  ['idempotency-key', ['k', 'k-1', 'k-2', '', 'x'.repeat(255), 'x'.repeat(256), '\u00fc', '{}']],
  ['last-event-id', ['0', '1', '2', '-1', '1.5', '1e3', '999999999999999', '9'.repeat(40), '', 'x', '0x1']],
  [
    'content-type',
    [
      undefined,
      '',
      'text/plain',
      'application/json; charset=utf-8',
      'application/json; charset=utf-16',
      'application/json;;;charset',
      'application/a2a+json',
      'multipart/form-data; boundary=x',
      'APPLICATION/JSON',
      `application/json; a="${'\\"'.repeat(500)}`,
    ],
  ],
  ['content-length', ['x', '-1', '1e9', '']],
  ['host', ['', 'a b', 'h:99999', '[::1]', 'evil.example/<script>']],
  ['forwarded', ['host=evil', 'for=;;;=', `host="${'\\'.repeat(500)}`]],
  ['if-none-match', ['*', '"x"', `"${long}`]],
]
