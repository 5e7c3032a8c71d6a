import type { Random } from '../support/random.ts'

const json = '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'
const post = (...lines: string[]) => ['POST / HTTP/1.1', 'Host: h', ...lines, '', ''].join('\r\n')
const whole = `${post('Content-Type: application/json', `Content-Length: ${json.length}`)}${json}`

/** What port scanners, other protocols, and smugglers say. */
const openings: readonly string[] = [
  whole,
  whole.repeat(3),
  whole.replaceAll('\r\n', '\n'),
  whole.replace('HTTP/1.1', 'HTTP/9.9'),
  whole.replace('POST', 'PROPFIND'),
  whole.replace('POST /', 'CONNECT h:443'),
  whole.replace('POST /', 'OPTIONS *'),
  whole.replace('POST /', 'POST http://h/'),
  whole.replace('Host: h\r\n', ''),
  whole.replace('Host: h', 'Host: h\r\nHost: i'),
  post('Content-Type: application/json', 'Content-Length: 1000'),
  post('Content-Length: 5', 'Content-Length: 6'),
  post('Content-Length: 5', 'Transfer-Encoding: chunked'),
  `${post('Content-Type: application/json', 'Transfer-Encoding: chunked')}zz\r\n${json}`,
  `${post('Content-Type: application/json', 'Transfer-Encoding: chunked')}fffffffffffffffff\r\n${json}`,
  `${post('Content-Type: application/json', 'Transfer-Encoding: chunked')}5\r\n{"a":`,
  post('Transfer-Encoding: gzip, chunked'),
  post('Expect: the unexpected'),
  post('Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'),
  post(`A2A-Version: ${'1'.repeat(20_000)}`),
  post(...Array.from({ length: 3_000 }, (_, index) => `x-${index}: 1`)),
  post(': no name', 'no colon', ' folded'),
  `POST /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`,
  'GET /\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'SSH-2.0-OpenSSH_9.6\r\n',
  '*1\r\n$4\r\nPING\r\n',
  '\r\n'.repeat(1_000),
  '\0'.repeat(1_000),
  '',
]

/** Bytes as they may come to an open port. */
export function garbage(random: Random): Uint8Array {
  if (random.chance(0.2)) return random.bytes(1 + random.below(2_000))
  const opening = Buffer.from(random.pick(openings), 'latin1')
  const at = random.below(opening.length + 1)
  switch (random.below(4)) {
    case 0:
      return opening
    case 1:
      return opening.subarray(0, at)
    case 2:
      return Buffer.concat([opening.subarray(0, at), random.bytes(1 + random.below(32)), opening.subarray(at)])
    default:
      return Buffer.concat([opening, random.bytes(random.below(500))])
  }
}
