-- The steps that an approval of kind `plan` covers, as they were shown (A11, A16).
ALTER TABLE approvals ADD COLUMN plan jsonb;
-- What a dry run said before the decision, as the card shows it (A19).
ALTER TABLE executions ADD COLUMN preview jsonb;
