import { named, text } from './form.ts'

/** The words and numbers of which envelopes are made. Patterns alone decide, so that every language reads them alike. */

const uuid4 = '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'

export const MessageId = named(
  'MessageId',
  text({ pattern: uuid4, expected: 'a UUID of version 4 in lower case' }),
  'A UUID of version 4 in lower case. No two messages have the same one.',
)

/** Old traffic has letters that no UUID has. */
export const LenientId = text({ pattern: '^[0-9a-z-]{36}$', expected: '36 characters of 0–9, a–z and -' })

export const AgentId = named(
  'AgentId',
  text({
    min: 3,
    max: 128,
    pattern: '^[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]$',
    expected: 'letters, digits and -, with a letter or digit at both ends',
  }),
  'The name of an agent in the mesh. "registry" is the agent that answers discovery.',
)

const longMonth = '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'
const shortMonth = '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)'
const february = '02-(?:0[1-9]|1[0-9]|2[0-8])'
const leapYear = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)'
/** A day of the calendar. There is no year 0. */
const day = `(?!0000)(?:[0-9]{4}-(?:${longMonth}|${shortMonth}|${february})|${leapYear}-02-29)`
const clock = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'

export const Timestamp = named(
  'Timestamp',
  text({
    pattern: `^${day}T${clock}(?:\\.[0-9]{3})?Z$`,
    format: 'date-time',
    expected: 'a time in UTC such as 2026-01-31T12:00:00.000Z (no fraction or three digits of it)',
  }),
  'A moment in UTC, to the second or to the millisecond, with Z at the end.',
)

export const DateTime = named(
  'DateTime',
  text({
    pattern: `^${day}T${clock}(?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$`,
    format: 'date-time',
    expected: 'a date and time as RFC 3339 writes them',
  }),
  'A moment as RFC 3339 writes it, in any zone.',
)

export const Nonce = named(
  'Nonce',
  text({ pattern: '^[0-9a-f]{32}$', expected: '32 hexadecimal digits in lower case' }),
  'Sixteen random bytes in hexadecimal digits, never used twice with one key.',
)

/** Only the one canonical spelling: otherwise the last digit of a signature could be changed unnoticed. */
const base64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?'

export const Signature = named(
  'Signature',
  text({ min: 4, pattern: `^${base64}$`, expected: 'base64 in the standard alphabet, with padding' }),
  'The signature over the canonical form (RFC 8785) of the whole envelope without this member, in base64.',
)

export const Fingerprint = named(
  'Fingerprint',
  text({ pattern: '^sha256:[0-9a-f]{16,64}$', expected: 'sha256: and 16 to 64 hexadecimal digits' }),
  'The SHA-256 of the public key as DER SPKI, or the beginning of it. It selects a key and proves nothing.',
)

export const SemanticVersion = named(
  'SemanticVersion',
  text({ pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$', expected: 'a version such as 1.0.0' }),
  'Major, minor and patch version.',
)

export const ErrorCode = named(
  'ErrorCode',
  text({ pattern: '^[A-Z][A-Z0-9_]*[A-Z0-9]$', expected: 'a code in capitals such as NOT_FOUND' }),
  'What went wrong, for programs. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may have their own.',
)

const inPath = "(?:[A-Za-z0-9._~:/@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
const inQuery = "(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})"
const host = '(?:[A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])'

export const HttpUrl = named(
  'HttpUrl',
  text({
    pattern: `^https?://${host}(?::[0-9]{1,5})?(?:/${inPath}*)?(?:\\?${inQuery}*)?(?:#${inQuery}*)?$`,
    format: 'uri',
    expected: 'an absolute http or https URL without user and password',
  }),
  'An absolute URL of HTTP, without user and password.',
)
