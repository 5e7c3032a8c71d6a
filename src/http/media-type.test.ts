import { expect, test } from 'vitest'
import { isJson } from './json.ts'

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON;charset="UTF-8"',
  'application/json ; charset=utf8',
  'application/a2a+json',
  'application/a2a+json; version="1.0; charset=latin1"',
  'application/json-rpc',
  'application/json;',
])('%j is JSON', (type) => {
  expect(isJson(type)).toBe(true)
})

test.each([
  undefined,
  '',
  'text/plain',
  'text/json',
  'application/jsonp',
  'application/json, text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=latin1',
  'application/json; charset="utf-16"',
  'application/json; v=1; CHARSET=iso-8859-1',
  'application/json; charset=',
])('%j is not JSON that we read', (type) => {
  expect(isJson(type)).toBe(false)
})
