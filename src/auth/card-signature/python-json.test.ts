import { expect, it } from 'vitest'
import { pythonJson } from './canonical-card.ts'

it('writes what Python writes', () => {
  const value = {
    b: 1,
    a: [0.0001, 0.00001, 1e16, 123456789012345680, 1.5, -0, 1e21, 1e-7, 100, 2.5e-10, true, null],
    '\u{1f600}': {},
    '\uffff': [],
    é: 'ü\u{1f600}\u007f\n\u000f"/\\',
  }
  // By json.dumps(value, separators=(',', ':'), sort_keys=True) of Python 3, with all numbers as floats.
  expect(pythonJson(value)).toBe(
    '{"a":[0.0001,1e-05,1e+16,1.2345678901234568e+17,1.5,-0.0,1e+21,1e-07,100.0,2.5e-10,true,null],"b":1.0,' +
      '"\\u00e9":"\\u00fc\\ud83d\\ude00\\u007f\\n\\u000f\\"/\\\\","\\uffff":[],"\\ud83d\\ude00":{}}',
  )
})
