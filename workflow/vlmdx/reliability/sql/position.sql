-- Does the model prefer a letter? Clean images of items with a gold answer, one row per letter position.

CREATE TABLE position AS
WITH usable AS (
    SELECT scores.*, count(DISTINCT item_id) OVER () AS answers
    FROM scores
    JOIN answers USING (item_id, corruption, severity)
    JOIN items USING (item_id)
    WHERE corruption = 'clean' AND answers.usable AND answers.reason IS NULL AND items.answer IS NOT NULL
)
SELECT getvariable('model') AS model, option_index, min(letter) AS letter,
       count(*) FILTER (chosen) / any_value(answers) AS chosen,
       count(*) FILTER (is_gold) / any_value(answers) AS gold,
       avg(p) AS mean_prob,
       count(*) AS n,
       any_value(answers) AS answers
FROM usable
GROUP BY option_index
ORDER BY option_index;
