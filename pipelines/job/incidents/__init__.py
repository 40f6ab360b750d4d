"""Takes complaints about answers, attributes the wrong answers to texts, settles the incidents."""
