import type { Random } from '../support/random.ts'

const json = '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'
const post = (...lines: string[]) => ['POST / HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
const validRequest = `${post('Content-Type: application/json', `Content-Length: ${json.length}`)}${json}`

/** What port scanners, other protocols and request smugglers send. */
const messages: readonly string[] = [
  validRequest,
  validRequest.repeat(3),
  validRequest.replaceAll('\r\n', '\n'),
  validRequest.replace('HTTP/1.1', 'HTTP/9.9'),
  validRequest.replace('POST', 'PROPFIND'),
  validRequest.replace('POST /', 'CONNECT h:443'),
  validRequest.replace('POST /', 'OPTIONS *'),
  validRequest.replace('POST /', 'POST http://h/'),
  validRequest.replace('Host: localhost\r\n', ''),
  validRequest.replace('Host: localhost', 'Host: localhost\r\nHost: i'),
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
  `POST /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'GET /\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'SSH-2.0-OpenSSH_9.6\r\n',
  '*1\r\n$4\r\nPING\r\n',
  '\r\n'.repeat(1_000),
  '\0'.repeat(1_000),
  '',
]

/** Bytes that may arrive at an open port. */
export function createGarbage(random: Random): Uint8Array {
  if (random.chance(0.2)) return random.bytes(1 + random.below(2_000))
  const message = Buffer.from(random.pick(messages), 'latin1')
  const index = random.below(message.length + 1)
  switch (random.below(4)) {
    case 0:
      return message
    case 1:
      return message.subarray(0, index)
    case 2:
      return Buffer.concat([message.subarray(0, index), random.bytes(1 + random.below(32)), message.subarray(index)])
    default:
      return Buffer.concat([message, random.bytes(random.below(500))])
  }
}
