import { expect, test } from 'vitest'
import { grpcUrl } from './client.ts'

test.each([
  ['https://a.test/grpc', undefined, 'https://a.test/grpc'],
  ['http://a.test', undefined, 'http://a.test'],
  ['grpcs://a.test:50051', undefined, 'https://a.test:50051'],
  ['grpc://a.test:50051', 'https://a.test/card', 'http://a.test:50051'],
  ['dns:///a.test:50051', undefined, 'https://a.test:50051'],
  ['a.test:50051', 'http://a.test/card', 'http://a.test:50051'],
  ['a.test:50051', 'https://a.test/card', 'https://a.test:50051'],
  ['a.test:443', 'http://a.test/card', 'https://a.test:443'],
  ['a.test:50051', undefined, 'https://a.test:50051'],
  ['localhost:50051', undefined, 'http://localhost:50051'],
  ['[::1]:50051', undefined, 'http://[::1]:50051'],
])('the address %s on a card from %s becomes %s', (address, cardUrl, url) => {
  expect(grpcUrl(address, cardUrl)).toBe(url)
})
