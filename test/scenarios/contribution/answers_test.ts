import { AnswerError, joinAnswers, parseAnswers, parseNotes } from "../../../scenarios/contribution/answers.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

Deno.test("parseNotes() tells answers from remarks", () => {
  assertEquals(parseNotes(["modules: 6 × 128 GB", " idle :yes", "BIOS: from 2021", "note"]), {
    answers: { modules: "6 × 128 GB", idle: "yes" },
    notes: ["BIOS: from 2021", "note"],
  });
  assertThrows(() => parseNotes(["idle: a", "idle: b"]), AnswerError, "given twice");
  assertThrows(() => parseNotes(["idle:  "]), AnswerError, "it is empty");
  assertThrows(() => parseNotes([" "]), AnswerError, "it is empty");
});

Deno.test("parseAnswers() reads a file and names what is wrong with one", () => {
  const text = '{ // mine\n "idle": "yes", "notes": ["cold room"], }';
  assertEquals(parseAnswers(text, "a.jsonc"), { answers: { idle: "yes" }, notes: ["cold room"] });
  for (
    const [bad, found] of [
      ["", "it is empty"],
      ["[]", "expected an object"],
      ['{"idel": "yes"}', 'did you mean "idle"?'],
      ['{"host": "x"}', "those asked are modules, firmware, idle"],
      ['{"idle": true}', 'expected a text for "idle", found true'],
      ['{"notes": "x"}', 'expected "notes" to be a list'],
      ['{"idle": ', "at offset"],
    ] as const
  ) assertThrows(() => parseAnswers(bad, "a.jsonc"), AnswerError, found);
});

Deno.test("joinAnswers() lets the second say more", () => {
  const first = { answers: { idle: "no", modules: "m" }, notes: ["1"] };
  assertEquals(joinAnswers(first, { answers: { idle: "yes" }, notes: ["2"] }), {
    answers: { idle: "yes", modules: "m" },
    notes: ["1", "2"],
  });
});
